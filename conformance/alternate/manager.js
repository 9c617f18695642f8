// All jobs of the server: their handles and names, and starting them.
import path from 'node:path';
import { ProtocolError, badParam, fail } from './errors.js';
import { Job } from './job.js';
import { directory, environment, launch, openFiles, program, pty } from './launch.js';
import { shellPath } from './capabilities.js';
import { checkStream } from './waits.js';
import { compile } from './patterns.js';

const closedMax = 100; // how many closed jobs stay known

export class Manager {
  // settings: rootDirectory, allowedDirectories, env, limits. touch(job): it has something to send.
  constructor(settings, touch) {
    Object.assign(this, { settings, touch });
    this.jobs = new Map();
    this.names = new Map();
    this.lastHandle = 0;
  }

  live() { return [...this.jobs.values()].filter((job) => job.status !== 'closed'); }

  // get finds a job by handle or name.
  get(handle) {
    const job = typeof handle === 'number' ? this.jobs.get(handle) : this.names.get(handle);
    if (job) return job;
    return fail('jobNotFound', `there is no job ${handle}; use one of those that live, or start it`,
      { handle, jobs: this.live().map((j) => j.state()) });
  }

  remove(job) {
    this.jobs.delete(job.handle);
    if (this.names.get(job.name) === job) this.names.delete(job.name);
  }

  // #checkBounds refuses what this server could not hold a job to.
  #checkBounds({ killAfterMs, profile = 'interactive', limits = {} }) {
    const refuse = (what, pointer) => fail('unsupported', `this server has not got ${what}; leave it out`, { what, pointer });
    if (profile !== 'interactive') refuse(`the profile ${profile}`, '/profile');
    if (killAfterMs !== undefined) refuse('killAfterMs', '/killAfterMs');
    for (const name of Object.keys(limits)) refuse(name, `/limits/${name}`);
  }

  // inGroup returns the live jobs of a group.
  inGroup(group) { return this.live().filter((job) => job.group === group); }

  // otherGroups are told where a group has no live job: those that have one.
  otherGroups(jobs) {
    if (jobs.length > 0) return {};
    return { liveGroups: [...new Set(this.live().map((job) => job.group).filter((g) => g !== undefined))].sort().slice(0, 64) };
  }

  // start starts a job, or throws; where the system tells later why it refused, it throws a
  // promise of the error. All is done at once, so that the next request finds the job.
  start(params, { mode, subscription, requestId, check }) {
    this.#checkMode(params, mode);
    this.#checkBounds(params);
    const { limits } = this.settings;
    const asked = mode;
    if (mode === 'pty' && !pty) {
      if (params.mode) fail('ptyUnavailable', 'this server has no terminals here; use mode pipe', { reason: 'the package has no binary for this machine' });
      mode = 'pipe';
    }
    const streams = mode === 'pty' ? ['pty'] : [...(params.stdoutFile ? [] : ['stdout']),
      ...(params.stderrFile || (params.stderr ?? 'separate') !== 'separate' ? [] : ['stderr'])];
    const watches = (params.watch ?? []).map((spec, i) => {
      checkStream(spec.stream, streams, `/watch/${i}/stream`);
      return [spec, compile(spec.pattern, spec.flags, `/watch/${i}/pattern`)];
    });
    check(streams);
    const holder = this.names.get(params.name);
    if (holder && !holder.exit) fail('nameInUse', `job ${holder.handle} has the name ${params.name}`, { name: params.name, handle: holder.handle });
    if (this.live().length >= limits.maxJobs) fail('limitExceeded', `${limits.maxJobs} jobs are live; end one`, { limit: 'maxJobs', max: limits.maxJobs, retryable: true });
    const handle = ++this.lastHandle;
    const { about, started } = this.#launch(params, mode);
    if (asked !== mode) about.modeReason = 'the package for terminals has no binary for this machine';
    const job = new Job({ handle, ...about }, started, { limits, acks: this.settings.acks, touch: () => this.touch(job), closed: () => this.#forgetOld() });
    job.hear(subscription, requestId);
    job.hold();
    this.jobs.set(handle, job);
    if (params.name) this.names.set(params.name, job);
    for (const [spec, re] of watches) job.watch(spec, re, 'start');
    return job;
  }

  #launch(params, mode) {
    const cwd = directory(params.cwd, this.settings);
    const env = environment(this.settings.env, params.env, { cwd, terminal: mode === 'pty' });
    let { argv } = params, shell;
    if (!argv) {
      shell = program(params.shell ?? shellPath, cwd, env);
      const name = params.shell ?? path.basename(shellPath);
      argv = params.command === undefined ? [name] : [name, '-c', params.command];
    }
    const file = shell ?? program(argv[0], cwd, env);
    const files = openFiles(params, cwd, this.settings);
    try {
      // A relative name counts from the job's directory, and a name is found on the job's PATH.
      const started = launch({ ...params, argv: [file, ...argv.slice(1)], cwd, env, mode, files, cols: params.cols ?? 80, rows: params.rows ?? 24 });
      const { name, group, description, command, cols = 80, rows = 24 } = params;
      return { started, about: { name, group, description, command, argv, shell, cwd, env, mode, cols, rows, interactive: !params.argv && command === undefined } };
    } finally {
      files.close();
    }
  }

  #checkMode(params, mode) {
    const wrong = (name, why) => { if (params[name] !== undefined) throw badParam(`/${name}`, why); };
    if (mode === 'pty') for (const name of ['stdin', 'stderr', 'stdoutFile', 'stderrFile']) wrong(name, 'goes with "mode": "pipe"');
    else for (const name of ['cols', 'rows']) wrong(name, 'goes with "mode": "pty"');
    if (['merge', 'discard'].includes(params.stderr)) wrong('stderrFile', `does not go with "stderr": "${params.stderr}"`);
  }

  #forgetOld() {
    const closed = [...this.jobs.values()].filter((job) => job.status === 'closed');
    if (closed.length > closedMax) this.remove(closed[0]);
  }
}

export const notInteractive = (job, why, more) =>
  new ProtocolError('notInteractive', `job ${job.handle}: ${why}`, { handle: job.handle, ...more });
