// Groovy at work, for ever: closures, GStrings, categories, traits, metaclasses, the compiler. Prints "ready" after a round.
import groovy.transform.CompileStatic

trait Priced {
	int price = 3
	int total(int n) { price * n }
}

class Item implements Priced {
	String name
	def methodMissing(String method, args) { method.size() + args.size() }
}

class Doubling {
	static int twice(Integer self) { self * 2 }
}

@CompileStatic
class Compiled {
	static long sum(List<Integer> list) { list.collect { Integer i -> i * 3L }.inject(0L) { Long a, Long b -> a + b } as long }
}

def words(int seed, int n) {
	def random = new Random(seed)
	(0..<n).collect { Integer.toString(random.nextInt(5000), 36) }
}

def histogram(list) {
	list.groupBy { it[0] }.collectEntries { k, v -> [(k): v.countBy { it.size() }] }
}

def text(list) {
	list.findAll { it =~ /^[a-f]/ }.collect { "<${it.toUpperCase()}:${it.size()}>" }.join(',').replaceAll(/<(\w)/) { all, c -> "[$c" }
}

def dynamic(int n) {
	def sum = 0
	n.times { i ->
		def item = new Item(name: "item $i", price: i % 7)
		sum += item.total(i) + item."call${i % 5}"(1, 2)
		use(Doubling) { sum += i.twice() }
	}
	sum
}

def round(int i) {
	def list = words(i, 3000)
	histogram(list).size() + text(list).size() + dynamic(500) + Compiled.sum(list*.size()) +
		(Eval.x(i, 'def f = { y -> y * x + 1 }; (1..20).sum { f(it) }') as int)
}

long sum = 0
for (int i = 0; ; i++) {
	sum += round(i)
	if (i == 0) {
		println 'ready'
		System.out.flush()
	}
}
