;; Clojure at work, for ever: persistent maps, lazy sequences, transducers, strings, the compiler.
;; Prints "ready" after a few rounds.
(ns attribution
  (:require [clojure.string :as str]))

(defn words [seed n]
  (loop [i 0 x (long seed) out (transient [])]
    (if (= i n)
      (persistent! out)
      (let [x (bit-and (+ (* x 1103515245) 12345) 0x7fffffff)]
        (recur (inc i) x (conj! out (Long/toString (bit-and (bit-shift-right x 8) 4095) 36)))))))

(defn histogram [ws]
  (reduce (fn [m w] (update m w (fnil inc 0))) {} ws))

(defn lazily [ws]
  (->> ws
       (map str/upper-case)
       (filter #(pos? (count %)))
       (partition-all 7)
       (map (fn [p] (str/join "-" p)))
       (sort-by (juxt count identity))
       (take 100)
       (reduce (fn [n s] (+ n (count s))) 0)))

(defn transduced [n]
  (transduce (comp (map #(* % %)) (filter odd?) (take-while #(< % 1000000000)) (map #(rem % 1009)))
             + 0 (range n)))

(defmulti area :shape)
(defmethod area :square [{:keys [side]}] (* side side))
(defmethod area :circle [{:keys [radius]}] (* 3.14159 radius radius))
(defmethod area :box [{:keys [a b c]}] (* 2 (+ (* a b) (* b c) (* a c))))

(defn areas [n]
  (reduce (fn [sum i]
            (+ sum (area (case (int (mod i 3))
                           0 {:shape :square :side i}
                           1 {:shape :circle :radius i}
                           {:shape :box :a 1 :b i :c 3}))))
          0 (range n)))

(defn compiled [i]
  ((eval `(fn [x#] (let [y# (* x# ~i)] (if (even? y#) (/ y# 2) (inc (* 3 y#))))))
   i))

(defn a-round [seed]
  (let [ws (words seed 8000)]
    (+ (count (histogram ws)) (lazily ws) (transduced 20000) (areas 6000)
       (reduce + (map compiled (range 4))))))

(loop [i 0 sum 0]
  (when (= i 20)
    (println "ready")
    (flush))
  (recur (inc i) (long (mod (+ sum (long (a-round (inc i)))) 1000003))))
