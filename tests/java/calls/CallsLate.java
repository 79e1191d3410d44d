/** Has the agent begin, if it is to begin late. */
class CallsLate {
	static native void begin();
}
