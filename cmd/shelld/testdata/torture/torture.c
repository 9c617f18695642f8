/*
 * Programs that are hard to end, for the tests of how jobs end. In C, since they fork
 * without exec, vfork, and fork from threads.
 *
 *	torture MARK MODE [ARG...]
 *
 * MARK becomes the soft limit of file locks, which Linux has long ignored. All that a
 * program starts inherits it, and anyone can read it in /proc/PID/limits. When a mode is
 * all there, it prints "ready" and the ids of the processes that a kill must name, or
 * "skip" and why it cannot be had here. Whatever happens, no process lives for longer
 * than LIFE seconds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIFE = 120 };

static time_t deadline;
static int told[2]; /* where each process says that it is in place */
static char **args;
static const char *mark;

static time_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static void die(const char *what)
{
	fprintf(stderr, "torture: %s: %s\n", what, strerror(errno));
	_exit(99);
}

/* nap sleeps, and ends the process when its time is over. */
static void nap(int ms)
{
	if (now() >= deadline)
		_exit(98);
	if (ms > 0)
		poll(NULL, 0, ms);
}

static void hang(void)
{
	for (;;)
		nap(1000);
}

static void tell(pid_t pid)
{
	if (write(told[1], &pid, sizeof pid) != sizeof pid)
		die("tell");
}

static void stay(void)
{
	tell(getpid());
	hang();
}

/* kid starts a child that does f and nothing else. */
static pid_t kid(void (*f)(void))
{
	pid_t pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		f();
		_exit(0);
	}
	return pid;
}

/* ready waits until n have told of themselves, and says so. */
static void ready(int n)
{
	static char line[64 << 10];
	int at = sprintf(line, "ready");
	while (n-- > 0) {
		pid_t pid;
		if (read(told[0], &pid, sizeof pid) != sizeof pid)
			die("ready");
		if (pid)
			at += sprintf(line + at, " %d", pid);
	}
	line[at++] = '\n';
	if (write(1, line, at) != at)
		die("write");
}

static void skip(const char *why)
{
	dprintf(1, "skip %s: %s\n", why, strerror(errno));
	exit(0);
}

static void all_signals(void (*h)(int))
{
	for (int s = 1; s < 32; s++)
		if (s != SIGCHLD && s != SIGKILL && s != SIGSTOP && s != SIGSEGV && s != SIGBUS)
			signal(s, h);
}

static void nothing(int s) { (void)s; }

static void new_session(void)
{
	if (setsid() < 0)
		die("setsid");
}

static void session_stay(void) { new_session(); stay(); }
static void group_stay(void) { setpgid(0, 0); stay(); }
static void deaf_stay(void) { all_signals(SIG_IGN); new_session(); stay(); }

static void close_all(void) { syscall(SYS_close_range, 0, ~0U, 0); }

/* ---- the modes ---- */

static void plain(void)
{
	kid(stay);
	tell(getpid());
	ready(2);
	hang();
}

static void leader_exits(void)
{
	kid(stay);
	kid(session_stay);
	ready(2);
}

static void groups(void)
{
	for (int i = 0; i < 3; i++)
		kid(group_stay);
	tell(getpid());
	ready(4);
	hang();
}

static void session_tree(void)
{
	new_session();
	kid(session_stay);
	stay();
}

static void sessions(void)
{
	kid(session_tree);
	kid(session_tree);
	tell(getpid());
	ready(5);
	hang();
}

static int depth;

static void deeper(void)
{
	if (depth % 4 == 0)
		new_session();
	if (--depth > 0)
		kid(deeper);
	stay();
}

static void deep(void)
{
	depth = 40;
	kid(deeper);
	tell(getpid());
	ready(41);
	hang();
}

/* daemon_end is what the daemon becomes: without an environment, directory, descriptors. */
static void daemon_end(void)
{
	tell(getpid());
	close_all();
	hang();
}

static void daemon_middle(void)
{
	new_session();
	if (fork() != 0)
		_exit(0);
	char fd[16];
	sprintf(fd, "%d", told[1]);
	char *argv[] = {"init", (char *)mark, "daemon_end", fd, NULL}, *env[] = {NULL};
	if (chdir("/") == 0)
		execve("/proc/self/exe", argv, env);
	die("exec");
}

static void daemons(void)
{
	waitpid(kid(daemon_middle), NULL, 0);
	tell(getpid());
	ready(2);
	hang();
}

static void daemon_alone(void)
{
	kid(daemon_middle);
	ready(1);
}

static void deaf(void)
{
	all_signals(SIG_IGN);
	kid(stay);
	kid(session_stay);
	tell(getpid());
	ready(3);
	hang();
}

static void handles(void)
{
	all_signals(nothing);
	kid(session_stay);
	tell(getpid());
	ready(2);
	hang();
}

static void blocks(void)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	kid(session_stay);
	tell(getpid());
	ready(2);
	hang();
}

static void stopped(void)
{
	pid_t a = kid(stay), b = kid(session_stay), c = kid(deaf_stay);
	tell(getpid());
	ready(4);
	kill(a, SIGSTOP);
	kill(b, SIGSTOP);
	kill(c, SIGSTOP);
	hang();
}

static void stop_self(void) { tell(getpid()); raise(SIGSTOP); hang(); }

static void self_stop(void)
{
	kid(stop_self);
	tell(getpid());
	ready(2);
	raise(SIGSTOP);
	hang();
}

static void *forking_thread(void *unused)
{
	kid(session_stay);
	kid(stay);
	hang();
	return unused;
}

static void threads(void)
{
	pthread_t t;
	for (int i = 0; i < 3; i++)
		if (pthread_create(&t, NULL, forking_thread, NULL))
			die("pthread_create");
	tell(getpid());
	ready(7);
	pthread_exit(NULL); /* The leader is a zombie now, with threads that live. */
}

static int hop_pause;

static void hop(void)
{
	tell(0);
	for (;;) {
		pid_t pid = fork();
		if (pid > 0)
			_exit(0);
		nap(hop_pause);
	}
}

static void hop_away(void) { new_session(); hop(); }
static void deaf_hop(void) { all_signals(SIG_IGN); hop_away(); }

static void hops(int pause, void (*f)(void))
{
	hop_pause = pause;
	kid(f);
	tell(getpid());
	ready(2);
	hang();
}

static void hop_ms(void) { hops(1, hop_away); }
static void hop_now(void) { hops(0, hop_away); }
static void hop_deaf(void) { hops(1, deaf_hop); }

static void hop_leader(void)
{
	hop_pause = 1;
	tell(0);
	ready(1);
	hop();
}

/* Two that start each other again. The second becomes the first when that one is gone. */
static void respawn_first(void);

static void respawn_second(void)
{
	pid_t first = getppid();
	new_session();
	tell(getpid());
	while (getppid() == first)
		nap(1);
	respawn_first();
}

static void respawn_first(void)
{
	tell(getpid());
	for (;;) {
		pid_t second = kid(respawn_second);
		while (waitpid(second, NULL, 0) < 0 && errno == EINTR)
			;
	}
}

static void respawn(void)
{
	all_signals(SIG_IGN);
	kid(respawn_first);
	tell(getpid());
	ready(3);
	hang();
}

static int bomb_depth;

static void bomb_tree(void)
{
	if (bomb_depth-- > 0) {
		kid(bomb_tree);
		kid(bomb_tree);
	}
	stay();
}

static void bomb(void)
{
	bomb_depth = 7;
	kid(bomb_tree);
	tell(getpid());
	ready(256);
	hang();
}

static atomic_int *alive;

static void living(void)
{
	unsigned seed = getpid();
	for (int life = 5 + rand_r(&seed) % 40; life > 0; life--) {
		if (atomic_fetch_add(alive, 1) < 100) {
			pid_t pid = fork();
			if (pid == 0) {
				seed = getpid();
				if (seed % 8 == 0)
					setsid();
				life = 5 + rand_r(&seed) % 40;
			} else if (pid < 0)
				atomic_fetch_sub(alive, 1);
		} else
			atomic_fetch_sub(alive, 1);
		nap(3);
	}
	atomic_fetch_sub(alive, 1);
}

static void living_bomb(void)
{
	alive = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	signal(SIGCHLD, SIG_IGN);
	tell(getpid());
	ready(1);
	for (;;) {
		if (atomic_load(alive) < 50) {
			atomic_fetch_add(alive, 1);
			kid(living);
		}
		nap(1);
	}
}

static void own_subreaper(void)
{
	all_signals(SIG_IGN);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	waitpid(kid(daemon_middle), NULL, 0);
	stay();
}

static void subreaper(void)
{
	kid(own_subreaper);
	tell(getpid());
	ready(3);
	hang();
}

static void sibling(int flags)
{
	pid_t pid = syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
	if (pid < 0)
		die("clone");
	if (pid == 0)
		stay();
}

static void with_sibling(void) { sibling(CLONE_PARENT | SIGCHLD); new_session(); stay(); }

static void clone_parent(void)
{
	sibling(CLONE_PARENT | SIGCHLD);
	sibling(0); /* a child whose end sends no signal */
	kid(with_sibling);
	tell(getpid());
	ready(5);
	hang();
}

static pid_t keeper;
static void kill_the_keeper(int s) { (void)s; kill(keeper, SIGKILL); }

static void kill_keeper(void)
{
	prctl(PR_SET_PDEATHSIG, 0);
	kid(session_stay);
	kid(deaf_stay);
	tell(getpid());
	ready(3);
	kill(getppid(), SIGKILL);
	hang();
}

static void kill_keeper_on_term(void)
{
	keeper = getppid();
	prctl(PR_SET_PDEATHSIG, 0);
	kid(session_stay);
	kid(deaf_stay);
	signal(SIGTERM, kill_the_keeper);
	tell(getpid());
	ready(3);
	hang();
}

static void stop_keeper(void)
{
	kid(deaf_stay);
	tell(getpid());
	ready(2);
	kill(getppid(), SIGSTOP);
	hang();
}

static void call_oneself(const char *name)
{
	prctl(PR_SET_NAME, name);
	memset(args[0], 0, strlen(args[0]));
	strncpy(args[0], name, 6);
}

static void renames(void)
{
	new_session();
	tell(getpid());
	for (int i = 0;; i++) {
		call_oneself(i % 2 ? ") R 1 1 (" : "shelld-keeper");
		nap(1);
	}
}

static void rename_often(void)
{
	kid(renames);
	call_oneself("shelld-keeper");
	tell(getpid());
	ready(2);
	hang();
}

static void hold_terminal(void)
{
	all_signals(SIG_IGN);
	setpgid(0, 0);
	if (open("/dev/tty", O_RDWR) < 0)
		die("/dev/tty");
	stay();
}

static void terminal_holder(void)
{
	kid(hold_terminal);
	ready(1);
}

static void read_terminal(void)
{
	char c;
	setpgid(0, 0);
	tell(getpid());
	for (;;) /* In the background: it is stopped for it. */
		if (read(0, &c, 1) <= 0)
			nap(10);
}

static void terminal_reader(void)
{
	kid(read_terminal);
	tell(getpid());
	ready(2);
	hang();
}

static void pipe_holder(void)
{
	kid(deaf_stay);
	ready(1);
}

static void init_of_namespace(void)
{
	all_signals(SIG_IGN);
	for (int i = 0; i < 3; i++)
		if (fork() == 0) {
			setsid();
			tell(0);
			hang();
		}
	hang();
}

static void namespace(void)
{
	int flags = CLONE_NEWPID | (geteuid() ? CLONE_NEWUSER : 0);
	pid_t pid = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid < 0)
		skip("no pid namespace may be made");
	if (pid == 0)
		init_of_namespace();
	tell(pid);
	tell(getpid());
	ready(5);
	hang();
}

static void in_vfork(void)
{
	if (vfork() == 0) {
		tell(getpid());
		for (;;)
			poll(NULL, 0, LIFE * 1000);
	}
}

static void vforker(void)
{
	pid_t pid = kid(in_vfork);
	tell(pid); /* It stands still until its child has become another program. */
	tell(getpid());
	ready(3);
	hang();
}

static void closing_stay(void) { new_session(); tell(getpid()); close_all(); hang(); }

static void closes(void)
{
	kid(closing_stay);
	tell(getpid());
	ready(2);
	close_all();
	hang();
}

static void on_parents_death(void)
{
	prctl(PR_SET_PDEATHSIG, SIGSTOP);
	new_session();
	stay();
}

static void deathsig(void)
{
	prctl(PR_SET_PDEATHSIG, 0);
	kid(on_parents_death);
	tell(getpid());
	ready(2);
	hang();
}

static void traced(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	hang();
}

static void tracer(void)
{
	all_signals(SIG_IGN);
	pid_t a = kid(traced), b = kid(session_stay);
	int status;
	if (waitpid(a, &status, WUNTRACED) != a || !WIFSTOPPED(status))
		skip("nothing may be traced");
	if (ptrace(PTRACE_SEIZE, b, NULL, NULL) < 0)
		skip("nothing may be seized");
	tell(a); /* Both stop at each signal, and nobody lets them go on. */
	tell(getpid());
	ready(3);
	hang();
}

static void nohup_child(void)
{
	signal(SIGHUP, SIG_IGN);
	setpgid(0, 0);
	stay();
}

static void nohup(void)
{
	kid(nohup_child);
	ready(1);
}

/* changes_user becomes another user: root gives its rights up, others run ARG, which is setuid. */
static void other_user(void)
{
	if (geteuid() == 0) {
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			die("setuid");
		session_stay();
	}
	char fd[16];
	sprintf(fd, "%d", told[1]);
	execl(args[3], "torture", mark, "root_end", fd, NULL);
	die(args[3]);
}

static void root_end(void)
{
	if (setresuid(0, 0, 0)) {
		tell(-1);
		_exit(0);
	}
	session_stay();
}

static void changes_user(void)
{
	pid_t pid;
	kid(other_user);
	if (read(told[0], &pid, sizeof pid) != sizeof pid)
		die("read");
	if (pid < 0)
		skip("setuid has no effect");
	tell(pid);
	tell(getpid());
	ready(2);
	hang();
}

static void vanishing(void)
{
	struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
	setrlimit(RLIMIT_LOCKS, &none);
	clearenv();
	new_session();
	call_oneself("[kworker]");
	tell(getpid());
	close_all();
	hang();
}

static void vanish(void)
{
	kid(vanishing);
	tell(getpid());
	ready(2);
	hang();
}

static void zombies(void)
{
	all_signals(SIG_IGN);
	for (int i = 0; i < 20; i++)
		if (fork() == 0)
			_exit(0);
	stay();
}

static void zombie_keeper(void)
{
	kid(zombies);
	tell(getpid());
	ready(2);
	hang();
}

static void exec_again(int s)
{
	(void)s;
	execl("/proc/self/exe", "torture", mark, "just_hang", NULL);
}

static void just_hang(void) { all_signals(SIG_IGN); hang(); }

static void exec_on_term(void)
{
	signal(SIGTERM, exec_again);
	kid(session_stay); /* It has the handler as well. */
	tell(getpid());
	ready(2);
	hang();
}

static void exec_often(void)
{
	char fd[16], end[32];
	sprintf(fd, "%d", told[1]);
	sprintf(end, "%lld", (long long)deadline);
	nap(2);
	execl("/proc/self/exe", "torture", mark, "exec_often", fd, end, NULL);
}

static void execs(void)
{
	tell(getpid());
	exec_often();
}

static void exec_hopper(void)
{
	kid(execs);
	tell(getpid());
	ready(2);
	hang();
}

static void daemon_on_term(int s)
{
	(void)s;
	if (fork() == 0) {
		all_signals(SIG_IGN);
		setsid();
		hang();
	}
	_exit(0);
}

static void fork_on_term(void)
{
	signal(SIGTERM, daemon_on_term);
	kid(session_stay);
	tell(getpid());
	ready(2);
	hang();
}

static void join_keeper(void)
{
	all_signals(SIG_IGN);
	if (setpgid(0, keeper))
		die("setpgid");
	kid(stay);
	kid(hop);
	stay();
}

static void keepers_group(void)
{
	keeper = getppid();
	hop_pause = 0;
	kid(join_keeper);
	tell(getpid());
	ready(4);
	hang();
}

static void move_group(void)
{
	pid_t home = getpgrp();
	tell(getpid());
	for (;;) {
		setpgid(0, 0);
		nap(1);
		setpgid(0, home);
	}
}

static void group_mover(void)
{
	kid(move_group);
	kid(move_group);
	tell(getpid());
	ready(3);
	hang();
}

static void spin(void)
{
	all_signals(SIG_IGN);
	setpriority(PRIO_PROCESS, 0, 19);
	tell(getpid());
	for (;;)
		nap(0);
}

static void spinner(void)
{
	kid(spin);
	tell(getpid());
	ready(2);
	hang();
}

static void hide(void)
{
	if (prctl(PR_SET_DUMPABLE, 0))
		die("PR_SET_DUMPABLE");
}

static void hang_again(void)
{
	tell(getpid());
	exec_again(0); /* After an execve it is dumpable again. */
}

static void deaf_parent(void)
{
	all_signals(SIG_IGN);
	new_session();
	kid(deaf_stay);
	kid(hang_again);
	stay();
}

static void undumpable(void)
{
	hide();
	kid(session_stay);
	kid(deaf_parent);
	tell(getpid());
	ready(5);
	hang();
}

static void hidden_middle(void)
{
	new_session();
	hide();
	if (fork() == 0)
		stay();
	_exit(0);
}

static void undumpable_alone(void)
{
	waitpid(kid(hidden_middle), NULL, 0);
	ready(1);
}

static void undumpable_hop(void)
{
	hide();
	hop_deaf();
}

/* parent_of reads it from /proc. */
static pid_t parent_of(pid_t pid)
{
	char path[64], line[512];
	sprintf(path, "/proc/%d/stat", pid);
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
	if (n <= 0)
		die(path);
	close(fd);
	line[n] = 0;
	return atoi(strrchr(line, ')') + 4);
}

/* starve_server leaves the server no descriptor to open anything with, and kills the keeper. */
static void starve_server(void)
{
	struct rlimit few = {4, 4};
	if (prlimit(parent_of(getppid()), RLIMIT_NOFILE, &few, NULL))
		die("prlimit");
	kill_keeper();
}

/* run becomes another program, with the mark. */
static void run(void)
{
	execv(args[3], args + 3);
	die(args[3]);
}

static const struct {
	const char *name;
	void (*f)(void);
} modes[] = {
#define MODE(f) {#f, f}
	MODE(plain), MODE(leader_exits), MODE(groups), MODE(sessions), MODE(deep), MODE(daemons),
	MODE(daemon_alone), MODE(deaf), MODE(handles), MODE(blocks), MODE(stopped), MODE(self_stop),
	MODE(threads), MODE(hop_ms), MODE(hop_now), MODE(hop_deaf), MODE(hop_leader), MODE(respawn),
	MODE(bomb), MODE(living_bomb), MODE(subreaper), MODE(clone_parent), MODE(kill_keeper),
	MODE(kill_keeper_on_term), MODE(stop_keeper), MODE(rename_often), MODE(terminal_holder),
	MODE(terminal_reader), MODE(pipe_holder), MODE(namespace), MODE(vforker), MODE(closes),
	MODE(deathsig), MODE(tracer), MODE(nohup), MODE(changes_user), MODE(vanish),
	MODE(zombie_keeper), MODE(exec_on_term), MODE(exec_hopper), MODE(fork_on_term),
	MODE(group_mover), MODE(spinner), MODE(keepers_group), MODE(undumpable),
	MODE(undumpable_alone), MODE(undumpable_hop), MODE(starve_server),
	/* What the modes become, and the start of a server. */
	MODE(daemon_end), MODE(root_end), MODE(just_hang), MODE(exec_often), MODE(run),
};

static void set_mark(void)
{
	struct rlimit l;
	if (getrlimit(RLIMIT_LOCKS, &l))
		die("getrlimit");
	l.rlim_cur = strtoull(mark, NULL, 10);
	if (setrlimit(RLIMIT_LOCKS, &l))
		die("setrlimit");
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: torture MARK MODE [ARG...]\n");
		return 2;
	}
	args = argv;
	mark = strdup(argv[1]);
	deadline = now() + LIFE;
	set_mark();
	int inherits = !strcmp(argv[2], "daemon_end") || !strcmp(argv[2], "root_end") || !strcmp(argv[2], "exec_often");
	if (inherits && argc > 3)
		told[0] = told[1] = atoi(argv[3]);
	else if (strcmp(argv[2], "run") && pipe(told))
		die("pipe");
	if (inherits && argc > 4)
		deadline = atoll(argv[4]);
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
		if (!strcmp(modes[i].name, argv[2])) {
			modes[i].f();
			return 0;
		}
	fprintf(stderr, "torture: there is no mode %s\n", argv[2]);
	return 2;
}
