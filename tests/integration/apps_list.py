"""The applications that apps.py profiles, one class each: what it is made of, how it is started, what it is given to do."""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import zipfile

import jvm

APPS = jvm.ROOT / "tests/apps"
HERE = pathlib.Path(__file__).resolve().parent


class Place:
    """One run of an application: the JDK, its files (a folder of jars), an empty folder, JVM flags for it to use."""

    def __init__(self, jdk, files, tmp, flags):
        self.jdk, self.files, self.tmp, self.flags = jdk, files, pathlib.Path(tmp), list(flags)
        self.log = self.tmp / "output"
        self.port = free_port()

    def jars(self):
        return ":".join(str(f) for f in sorted(self.files.glob("*.jar")) if not f.name.endswith("-sources.jar"))

    def java(self, classpath, *args):
        return [str(self.jdk.home / "bin/java"), *self.flags, "-cp", str(classpath), *map(str, args)]

    def driver(self, classpath, *args):
        """A program that gives the application something to do, without what is asked of the application's own JVM."""
        return [str(self.jdk.home / "bin/java"), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", str(classpath), *map(str, args)]

    def compile(self, *sources, classpath="", options=()):
        """The folder of class files."""
        out = self.tmp / "classes"
        out.mkdir(exist_ok=True)
        # A file with the names: there may be hundreds.
        names = self.tmp / "sources"
        names.write_text("".join('"%s"\n' % s for s in sources))
        run = subprocess.run([str(self.jdk.home / "bin/javac"), "-nowarn", "-proc:none", *options, "-cp", classpath, "-d", str(out),
                              "@%s" % names], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if run.returncode:
            sys.exit("javac: %s" % run.stdout[-2000:])
        return out

    def unpack(self, pattern):
        """A zip file of the application's, in a folder of its own."""
        out = self.tmp / "unpacked"
        with zipfile.ZipFile(next(self.files.glob(pattern))) as z:
            z.extractall(out)
        return out


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def is_open(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


class App:
    name = ""  # one word
    title = ""  # for people: what it does
    files = ""  # the folder of its files; without one, as its name
    artifacts = ()  # of Maven Central; those they depend on come too
    since = 17
    from_start = False  # sampled from its first instruction on; it ends by itself
    env = {}

    def version(self):
        """For people: that of the first artifact."""
        return self.artifacts[0].split(":")[2] if self.artifacts else ""

    def command(self, place):
        """What starts it; the JVM has the process id. May take its time: it compiles, unpacks."""
        raise NotImplementedError

    def is_ready(self, place):
        """By default, it prints a line "ready"."""
        return b"ready\n" in place.log.read_bytes()

    def drivers(self, place):
        """Programs that run beside it, once it is ready."""
        return []


class H2(App):
    name = "h2"
    title = "H2: inserts and queries in memory"
    artifacts = ["com.h2database:h2:2.4.240"]

    def command(self, place):
        classes = place.compile(HERE / "attribution_H2.java")
        return place.java("%s:%s" % (classes, place.jars()), "H2")


class Clojure(App):
    name = "clojure"
    title = "Clojure: a script that computes and compiles"
    artifacts = ["org.clojure:clojure:1.12.3"]

    def command(self, place):
        return place.java(place.jars(), "clojure.main", HERE / "attribution_clojure.clj")


class Groovy(App):
    name = "groovy"
    title = "Groovy: a script, mostly dynamic"
    artifacts = ["org.apache.groovy:groovy:4.0.28"]

    def command(self, place):
        return place.java(place.jars(), "groovy.ui.GroovyMain", APPS / "work.groovy")


class Jython(App):
    name = "jython"
    title = "Jython: a script that computes and compiles"
    artifacts = ["org.python:jython-standalone:2.7.4"]

    def command(self, place):
        return place.java(place.jars(), "-Dpython.cachedir.skip=true", "org.python.util.jython", APPS / "work_jython.py")


class Scalac(App):
    """One run of the compiler, on Scala's own library; recorded while it still gets compiled itself."""
    name = "scalac"
    title = "scalac: Scala's own library, from the start on"
    artifacts = ["org.scala-lang:scala-compiler:2.13.17", "org.scala-lang:scala-library:2.13.17:jar:sources"]

    def command(self, place):
        # Those files only document types that the compiler makes itself.
        made = {"Any.scala", "AnyRef.scala", "Nothing.scala", "Null.scala", "Singleton.scala"}
        top = place.unpack("*-sources.jar") / "scala"
        sources = [s for s in sorted(top.rglob("*.scala")) if s.parent != top or s.name not in made]
        out = place.tmp / "out"
        out.mkdir()
        (place.tmp / "files").write_text("".join('"%s"\n' % s for s in sources))
        return place.java(place.jars(), "scala.tools.nsc.Main", "-nowarn", "-usejavacp", "-d", out, "@%s" % (place.tmp / "files"))

    def is_ready(self, place):
        return True


class Javac(App):
    name = "javac"
    title = "javac: Commons Math, again and again"
    artifacts = ["org.apache.commons:commons-math3:3.6.1:jar:sources"]

    def version(self):
        return "the JDK's"

    def command(self, place):
        classes = place.compile(HERE / "attribution_Javac.java")
        out = place.tmp / "out"
        out.mkdir()
        return place.java(classes, "Javac", place.unpack("*-sources.jar"), out)


class Tomcat(App):
    """The distribution with its examples, started by its own script."""
    name = "tomcat"
    title = "Tomcat: its examples, 8 connections"
    artifacts = ["org.apache.tomcat:tomcat:11.0.18:zip"]
    connector = ""
    paths = ["/examples/servlets/servlet/HelloWorldExample", "/examples/servlets/servlet/RequestHeaderExample",
             "/examples/jsp/dates/date.jsp", "/examples/jsp/jsp2/el/basic-arithmetic.jsp", "/docs/index.html", "/"]

    def command(self, place):
        home = next(place.unpack("*.zip").iterdir())
        server = home / "conf/server.xml"
        text = server.read_text().replace('port="8005"', 'port="-1"')
        server.write_text(text.replace('port="8080"', 'port="%d" address="127.0.0.1" %s' % (place.port, self.connector)))
        self.env = {"CATALINA_HOME": str(home), "CATALINA_BASE": str(home), "JRE_HOME": str(place.jdk.home),
                    "JAVA_HOME": str(place.jdk.home), "CATALINA_OPTS": " ".join(place.flags)}
        return ["sh", str(home / "bin/catalina.sh"), "run"]

    def is_ready(self, place):
        if not is_open(place.port):
            return False
        for path in self.paths:  # the pages are compiled
            with urllib.request.urlopen("http://127.0.0.1:%d%s" % (place.port, path)) as answer:
                answer.read()
        return True

    def drivers(self, place):
        classes = place.compile(APPS / "Requests.java")
        return [place.driver(classes, "Requests", "http://127.0.0.1:%d" % place.port, 8, *self.paths)]


class TomcatVirtual(Tomcat):
    name = "tomcat-virtual"
    title = "Tomcat: the same, virtual threads"
    files = "tomcat"
    since = 21
    connector = 'useVirtualThreads="true"'


class ZooKeeper(App):
    name = "zookeeper"
    title = "ZooKeeper: 4 sessions that read and write"
    # The last two are what it takes to run a server.
    artifacts = ["org.apache.zookeeper:zookeeper:3.9.4", "io.dropwizard.metrics:metrics-core:4.2.36",
                 "org.xerial.snappy:snappy-java:1.1.10.8"]

    def command(self, place):
        (place.tmp / "zoo.cfg").write_text("tickTime=2000\ndataDir=%s/data\nclientPort=%d\nclientPortAddress=127.0.0.1\n"
                                           "admin.enableServer=false\n" % (place.tmp, place.port))
        return place.java(place.jars(), "org.apache.zookeeper.server.quorum.QuorumPeerMain", place.tmp / "zoo.cfg")

    def is_ready(self, place):
        return is_open(place.port)

    def drivers(self, place):
        classes = place.compile(APPS / "Nodes.java", classpath=place.jars())
        return [place.driver("%s:%s" % (classes, place.jars()), "Nodes", "127.0.0.1:%d" % place.port, 4)]


class SpringBoot(App):
    """A web application that starts and stops, from the JVM's first instruction on."""
    name = "spring-boot"
    title = "Spring Boot: a web application that starts and stops, from the first instruction on"
    artifacts = ["org.springframework.boot:spring-boot-starter-web:3.5.6"]
    from_start = True

    def command(self, place):
        classes = place.compile(*(APPS / "spring").glob("*.java"), classpath=place.jars(), options=["-parameters"])
        return place.java("%s:%s" % (classes, place.jars()), "shop.Shop", 15)


class Many(App):
    """25,000 classes with 50,000 lambdas; recorded while most of them are being made."""
    name = "many-classes"
    title = "25,000 classes with 50,000 lambdas, while they are made"

    def version(self):
        return "generated"

    def command(self, place):
        return place.java(self.classes(place), "Many")

    def classes(self, place):
        """Compiled once: it takes a minute."""
        source = APPS / "many.py"
        out = jvm.build_dir() / "java" / ("many-%d" % place.jdk.major)
        if not out.exists() or out.stat().st_mtime < source.stat().st_mtime:
            sources = place.tmp / "many"
            sources.mkdir()
            subprocess.run([sys.executable, "-B", str(source), str(sources)], check=True)
            made = place.compile(*sources.glob("*.java"))
            out.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(out, ignore_errors=True)
            shutil.move(made, out)
            os.utime(out)
        return out


ALL = [H2(), Javac(), Tomcat(), TomcatVirtual(), Clojure(), Groovy(), Scalac(), Jython(), ZooKeeper(), SpringBoot(), Many()]
# Of the quick run, with the JDK they run on: the lowest or the highest that is here.
QUICK = [("h2", min), ("clojure", max)]


class Running:
    """An application at work; it and its drivers are gone when the with-block ends."""

    def __init__(self, app, place, command=None):
        self.app, self.place, self.programs = app, place, []
        self.proc = self.start(command or app.command(place), place.log, app.env)
        self.pid = self.proc.pid

    def start(self, argv, log, env=None):
        more = {k: v for k, v in os.environ.items() if k not in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS")}
        with open(log, "wb") as f:
            proc = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.STDOUT, cwd=self.place.tmp,
                                    env={**more, **(env or {})}, preexec_fn=jvm.die_with_parent)
        self.programs.append((proc, argv, log))
        return proc

    def check(self):
        for proc, argv, log in self.programs:
            if proc.poll() is not None:
                raise RuntimeError("%s: ended with %d: %s" % (" ".join(argv)[:200], proc.returncode, log.read_text(errors="replace")[-1500:]))

    def wait_ready(self):
        end = time.monotonic() + jvm.PATIENCE
        while not self.app.is_ready(self.place):
            self.check()
            if time.monotonic() > end:
                raise RuntimeError("%s is not ready after %d s" % (self.app.name, jvm.PATIENCE))
            time.sleep(0.05)
        for i, argv in enumerate(self.app.drivers(self.place)):
            self.start(argv, self.place.tmp / ("driver%d" % i))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for proc, _, _ in reversed(self.programs):
            if proc.poll() is None:
                proc.kill()
            proc.wait()
