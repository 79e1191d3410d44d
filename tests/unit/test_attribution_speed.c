#include "test_attribution_dump.h"

#include "symbolizer/attribution/choice.h"
#include "symbolizer/attribution/graph.h"
#include "symbolizer/base/clock.h"

/*
 * Prints what building a graph and a choice cost. The limits are those of the design (200 ns an
 * instruction, 1 us a choice) with room for a loaded machine and sanitizers.
 */
enum { ROUNDS = 50, SLACK = 20, GRAPH_NS = 200, CHOICE_NS = 1000 };

static void measure(const char *path)
{
	struct dump d;
	struct decoder *decoder = decoder_new();
	struct choice_scratch scratch = {0};
	struct choice c;
	struct graph *g = NULL;
	uint64_t best = UINT64_MAX, start, insns = 0, took;

	dump_load(path, &d);
	for (int i = 0; i < ROUNDS; i++) {
		graph_free(g);
		start = clock_thread_cpu_ns();
		assert_int_equal(graph_new(&d.code, &d.env, decoder, &g), 0);
		took = clock_thread_cpu_ns() - start;
		best = took < best ? took : best;
	}
	start = clock_thread_cpu_ns();
	for (int i = 0; i < ROUNDS; i++)
		for (uint32_t k = 0; k < g->n_insns; k++, insns++)
			assert_int_equal(choose(g, &scratch, k, &c), 0);
	took = (clock_thread_cpu_ns() - start) / insns;
	print_message("%s: %u instructions, %u bytes, %zu bytes of graph: graph %.1f ns an "
		      "instruction, choice %u ns\n",
		      path, g->n_insns, d.code.n_bytes, g->bytes, (double)best / g->n_insns, (unsigned)took);
	assert_true(best / g->n_insns < GRAPH_NS * SLACK);
	assert_true(took < CHOICE_NS * SLACK);
	choice_scratch_done(&scratch);
	graph_free(g);
	decoder_free(decoder);
	dump_done(&d);
}

static void test_cost(void **state)
{
	(void)state;
	measure(FIXTURES "/attribution/normal.code");
	measure(FIXTURES "/attribution/osr.code");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
