/*
 * An agent as small as can be, for what loads agents: connects to the socket of "stream=PATH", says
 * hello, and closes. RETURNS: what Agent_OnAttach returns; SILENT: does not connect; SAYS: something else
 * than hello; NEEDS: calls a function that no library has.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef RETURNS
#define RETURNS 0
#endif

#ifndef SAYS
#define SAYS "hello\n"
#endif

int Agent_OnAttach(void *vm, char *options, void *reserved);

#ifdef NEEDS
int function_that_no_library_has(void);
#endif

int Agent_OnAttach(void *vm, char *options, void *reserved)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)vm;
	(void)reserved;
#ifdef NEEDS
	if (function_that_no_library_has())
		return 99;
#endif
#ifndef SILENT
	if (RETURNS == 0 && strncmp(options, "stream=", 7) == 0) {
		snprintf(a.sun_path, sizeof(a.sun_path), "%s", options + 7);
		if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
		    write(fd, SAYS, sizeof(SAYS) - 1) != sizeof(SAYS) - 1)
			perror("attach_agent");
	}
#endif
	close(fd);
	return RETURNS;
}
