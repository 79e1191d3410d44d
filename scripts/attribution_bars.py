"""Judges the bars of attribution one by one: holds, fails, or inconclusive, with the numbers."""

LINES = {
    "misplaced": "misplaced CPU share, worst of 5 fresh JVMs: G1 1.5 points, others 2; with all records, a listener",
    "wrong": "points given to a wrong kernel: 1",
    "javac": "agreement on javac: innermost 76 %, child 88 %, wrong 11 %",
    "address": "never worse than the address rule, in any kind of code",
    "sure": "what is marked exact or by flow is right in 97 % of samples",
    "foreign": "no method named that is neither inlined there nor called from there",
    "garbage": "corrupted, truncated, patched code: bounded time, no crash, marked approximate",
    "speed": "a graph 200 ns an instruction, a choice 1 us",
}
HOLDS, OPEN, FAILS = "holds", "inconclusive", "fails"


class Bars:
    def __init__(self):
        self.seen = {line: [] for line in LINES}

    def note(self, line, status, what):
        self.seen[line].append((status, what))

    def compare(self, line, what, value, bar, margin, above=False):
        """A percentage and how far chance may move it: exceeding the bar by more than that fails."""
        over = bar - value if above else value - bar
        status = HOLDS if over <= 0 else FAILS if over > margin else OPEN
        self.note(line, status, "%s %.1f (bar %g, chance %.1f)" % (what, value, bar, margin))

    def status(self, line):
        found = {status for status, _ in self.seen[line]}
        for s in (FAILS, OPEN, HOLDS):
            if s in found:
                return s
        return OPEN

    def failed(self):
        return [line for line in LINES if self.status(line) == FAILS]

    def show(self):
        print("| what must hold | | seen |\n| --- | --- | --- |")
        for line, text in LINES.items():
            status = self.status(line)
            notes = [what for s, what in self.seen[line] if s == status]
            more = " and %d more" % (len(notes) - 3) if len(notes) > 3 else ""
            print("| %s | %s | %s |" % (text, status, "; ".join(notes[:3]) + more or "not measured"))
