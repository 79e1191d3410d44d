package shop;

import java.util.List;
import java.util.Map;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.web.servlet.context.ServletWebServerApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.stereotype.Component;
import org.springframework.stereotype.Service;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestTemplate;

/** A web application that starts, answers some requests and stops, again and again: java -cp DIR:JARS shop.Shop SECONDS. */
@SpringBootApplication
@EnableAsync
@EnableConfigurationProperties(Shop.Limits.class)
public class Shop {
	@ConfigurationProperties("shop")
	public record Limits(int most, List<String> kinds) {}

	public record Order(int id, String kind, double price) {}

	public interface Prices {
		double of(int id);
	}

	@Configuration
	public static class Wiring {
		@Bean
		public Prices prices(@Value("${shop.base:3.5}") double base) {
			return id -> base * (1 + id % 10);
		}

		@Bean
		public RestTemplate rest() {
			return new RestTemplate();
		}
	}

	@Service
	public static class Orders {
		private final Prices prices;
		private final Limits limits;

		public Orders(Prices prices, Limits limits) {
			this.prices = prices;
			this.limits = limits;
		}

		public Order order(int id) {
			return new Order(id, limits.kinds().get(id % limits.kinds().size()), prices.of(id));
		}

		@Async
		public void note(Order order) {}
	}

	@RestController
	public static class Web {
		private final Orders orders;

		public Web(Orders orders) {
			this.orders = orders;
		}

		@GetMapping("/orders/{id}")
		public Map<String, Order> order(@PathVariable("id") int id) {
			Order order = orders.order(id);

			orders.note(order);
			return Map.of("order", order);
		}
	}

	@Component
	public static class Listener {
		@EventListener
		public void any(Object event) {}
	}

	private static void once(String[] args) {
		SpringApplication app = new SpringApplication(Shop.class);

		app.setDefaultProperties(Map.of("server.port", "0", "server.address", "127.0.0.1", "shop.most", "9",
			"shop.kinds", "tea,coffee,milk"));
		try (ServletWebServerApplicationContext c = (ServletWebServerApplicationContext) app.run(args)) {
			RestTemplate rest = c.getBean(RestTemplate.class);

			for (int i = 0; i < 20; i++)
				rest.getForObject("http://127.0.0.1:" + c.getWebServer().getPort() + "/orders/" + i, String.class);
		}
	}

	public static void main(String[] args) {
		long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;

		while (System.nanoTime() < end)
			once(new String[0]);
	}
}
