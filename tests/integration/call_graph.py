"""Which method of a program calls which, by its class files: what a stack may show, whatever was sampled."""

import json
import re
import subprocess
import sys

CLASS = re.compile(r"^(?:[a-z]+ )*(?:class|interface|enum) ([^ <{]+)")
METHOD = re.compile(r"^  (?:[^(]* )?([^ (]+)\(.*\)(?: throws .*)?;$")
CALL = re.compile(r"// (?:Interface)?Method (?:\"?([^ .:\"]+)\"?\.)?\"?([^ :\"]+)\"?:\(")
# Who is called is the class's own business: another class's method of that name is none of it.
FIXED = re.compile(r" invoke(?:static|special) ")
JDK = re.compile(r"(?:java|javax|jdk|sun|com/sun)/")
# What stands for a method handle's or a lambda's own frames, which the JDK makes up.
MADE_UP = "java/lang/invoke/"
LINKED = {"*.invokedynamic", ".invoke", ".invokeExact"}


def read_class_files(jdk, classes):
    files = sorted(str(f) for f in classes.glob("*.class"))
    run = subprocess.run([str(jdk.home / "bin/javap"), "-p", "-c", *files], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    if run.returncode:
        sys.exit("javap: %s" % run.stderr)
    graph, name, calls = {}, None, set()
    for line in run.stdout.splitlines():
        m = CLASS.match(line)
        if m:
            name = m.group(1).replace(".", "/")
            continue
        m = METHOD.match(line)
        if m or line == "  static {};":
            method = m.group(1) if m else "<clinit>"
            method = "<init>" if method.replace(".", "/") == name else method
            calls = graph.setdefault("%s.%s" % (name, method), set())
            continue
        if " invokedynamic " in line:
            calls.add("*.invokedynamic")
        m = CALL.search(line)
        if m and "invoke" in line:
            calls.add("%s.%s" % ((m.group(1) or name) if FIXED.search(line) else "", m.group(2)))
    own = {method.rpartition(".")[0] for method in graph}
    return {caller: sorted({declared(graph, own, c) for c in called}) for caller, called in graph.items()}


def declared(graph, own, call):
    """A method that its class inherits may be any class's; "*.method" is one of a class that is not the program's."""
    where, _, method = call.rpartition(".")
    return call if call in graph else "." + method if where in own or not where else "*." + method


def of_program(jdk, classes):
    """{"Class.method": what it calls, "Class.method" of the program, ".method" of any class, "*.method" of another's};
    read once for each compilation."""
    kept = classes.parent / (classes.name + ".all-calls.json")
    if not kept.exists() or kept.stat().st_mtime <= classes.stat().st_mtime:
        graph = read_class_files(jdk, classes)
        if len(graph) < 5 or not any(graph.values()):
            sys.exit("javap's output was not understood")
        kept.write_text(json.dumps(graph))
    return json.loads(kept.read_text())


def may_call(graph, caller, called):
    method = called.rpartition(".")[2]
    if called in graph:
        return bool({called, "." + method} & set(graph[caller]))
    return bool({"." + method, "*." + method} & set(graph[caller])) or \
        (called.startswith(MADE_UP) and bool(LINKED & set(graph[caller])))


def wrong_call(graph, frames):
    """The first of a stack's calls (frames root first, no suffixes) that the program does not make; None: none.

    Only where the caller is the program's own, the called one is too or is the JDK's, and nothing is between them:
    what the JVM calls by itself (class loading, reflection, upcalls) stands behind native frames."""
    for caller, called in zip(frames, frames[1:]):
        if caller in graph and (called in graph or JDK.match(called)) and not may_call(graph, caller, called):
            return "%s does not call %s" % (caller, called)
    return None
