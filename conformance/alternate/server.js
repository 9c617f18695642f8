#!/usr/bin/env node
// A server of the Shell Server Protocol, level core, over stdin and stdout. This file wires
// the parts together: stdin -> framing -> rpc -> methods, and answers and events -> stdout.
import net from 'node:net';
import path from 'node:path';
import fs from 'node:fs';
import { randomUUID } from 'node:crypto';
import { Framing } from './framing.js';
import { Rpc } from './rpc.js';
import { Manager } from './manager.js';
import { methods } from './methods.js';
import { badParam, fail, nearest } from './errors.js';
import { place } from './launch.js';
import { checkParams } from './schema.js';
import { capabilities, defaultLimits, events, platform } from './capabilities.js';

const answersMax = 64 << 20; // of answers that a client does not read
const stuckMs = 2000; // after which a stdout that takes nothing is given up at the end

// openStdout: process.stdout would block on a pipe that the client does not read.
function openStdout() {
  const stat = fs.fstatSync(1);
  return stat.isFIFO() || stat.isSocket() ? new net.Socket({ fd: 1, readable: false, writable: true }) : process.stdout;
}

// refuseMisspelt refuses what is nearly a member that keeps something from being done: whoever
// sent it would take himself for protected.
function refuseMisspelt(at, given, protecting, known = []) {
  for (const name of Object.keys(given).filter((key) => !known.includes(key))) {
    const word = name.toLowerCase();
    const near = (member) => word.length > 2 && (member.startsWith(word) || nearest(word, [member]).length > 0);
    const meant = protecting.find((member) => near(member.toLowerCase()));
    if (meant) throw badParam(`${at}/${name}`, `is not known; did you mean ${meant}?`, { didYouMean: meant });
  }
}

class Server {
  constructor() {
    this.state = 'new'; // initialized, ending, down
    this.allEvents = events;
    this.settings = { rootDirectory: process.cwd(), events, encoding: 'text', env: {}, limits: { ...defaultLimits } };
    this.pending = new Set(); // what ends waiting requests when the server ends
    this.ready = new Set(); // jobs that may have something to send
    this.answers = []; // messages that go before events
    this.answersSize = 0;
    this.manager = new Manager(this.settings, (job) => this.touch(job));
    this.rpc = new Rpc({
      methods: methods(this),
      notifications: { exit: () => this.end(), '$/cancelRequest': ({ id }) => this.rpc.cancel(id), initialized() {}, 'job/ack': (params) => this.#ack(params) },
      lifeCycle: (method) => this.#lifeCycle(method),
      send: (text) => this.send(text),
    });
    this.framing = new Framing({
      message: (bytes) => this.rpc.receive(bytes),
      bad: (kind, text) => this.rpc.refuse(kind, text),
      broken: (text) => { this.rpc.refuse('invalidRequest', text); this.end(); },
    });
    this.out = openStdout();
    this.out.on('drain', () => this.#pump());
    this.out.on('error', () => { this.brokenOut = true; this.answers = []; this.end(); });
  }

  listen() {
    process.stdin.on('data', (chunk) => this.framing.push(chunk));
    process.stdin.on('end', () => { this.framing.end(); this.end(); });
    process.stdin.on('error', () => this.end());
    process.on('uncaughtException', (err) => { console.error(err); this.end(); }); // no job is left behind
    for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT']) process.on(signal, () => this.end());
  }

  #lifeCycle(method) {
    if (this.state === 'new' && method !== 'initialize') fail('notInitialized', 'send initialize first');
    if (this.state === 'ending') fail('shuttingDown', 'the server is ending; start another');
    if (this.state === 'down') fail('invalidRequest', 'shutdown was answered; send exit');
    if (this.state === 'initialized' && method === 'initialize') fail('invalidRequest', 'the connection is initialized already');
  }

  initialize({ protocolVersion = '1', rootDirectory, allowedDirectories, capabilities: client = {}, options = {}, clientInfo, processId, _meta, ...others }) {
    refuseMisspelt('', others, ['allowedDirectories', 'options']);
    refuseMisspelt('/options', options, ['allowedDirectories']);
    refuseMisspelt('/options/env', options.env ?? {}, ['inherit', 'exclude'], ['inherit', 'include', 'exclude', 'set', 'login']);
    if (protocolVersion !== '1') fail('unsupportedVersion', `version ${protocolVersion} is not spoken here`, { supported: ['1'] });
    if (rootDirectory !== undefined) {
      if (!path.isAbsolute(rootDirectory)) throw badParam('/rootDirectory', 'must be absolute');
      if (!fs.statSync(rootDirectory, { throwIfNoEntry: false })?.isDirectory()) fail('badWorkingDirectory', `${rootDirectory} is no directory`, { path: rootDirectory });
    }
    const unfit = allowedDirectories?.findIndex((dir) => !path.isAbsolute(dir)) ?? -1;
    if (unfit >= 0) throw badParam(`/allowedDirectories/${unfit}`, 'must be absolute');
    const allowed = allowedDirectories?.map(place);
    const { directory } = options.persist ?? {};
    if (directory !== undefined) fail('outputFileError', 'this server keeps no files; leave persist.directory out', { path: directory, reason: 'output is kept in memory alone' });
    const { settings } = this;
    settings.rootDirectory = rootDirectory ?? settings.rootDirectory;
    Object.assign(settings, { allowed, allowedDirectories });
    settings.acks = client.ack ?? false;
    settings.events = options.events ?? settings.events;
    settings.encoding = options.encoding ?? settings.encoding;
    settings.env = options.env ?? {};
    for (const name of Object.keys(settings.limits)) {
      if (options.limits?.[name] !== undefined && defaultLimits[name] !== 0) settings.limits[name] = options.limits[name];
    }
    this.framing.maxBytes = this.rpc.maxMessageBytes = settings.limits.maxMessageBytes;
    this.state = 'initialized';
    return {
      protocolVersion: '1', serverInfo: { name: 'alternate', version: '1' }, sessionId: randomUUID(), stateDirectory: null,
      capabilities: capabilities([...Object.keys(this.rpc.methods), 'initialized', 'exit', '$/cancelRequest', 'job/ack']), platform, limits: settings.limits,
    };
  }

  // send queues a message; answers and what belongs in front of them go before events.
  send(text) {
    const framed = this.framing.frame(text);
    this.answers.push(framed);
    this.answersSize += framed.length;
    if (this.answersSize > answersMax) { this.brokenOut = true; this.end(); }
    this.#pump();
  }

  touch(job) {
    this.ready.add(job);
    this.#pump();
  }

  // #ack: nobody can be told in an answer that it was no good, and output might wait for it for ever.
  #ack(params) {
    if (!this.settings.acks) return;
    try {
      checkParams('job/ack', params);
      const job = this.manager.jobs.get(params.handle) ?? this.manager.names.get(params.handle);
      if (!job) return; // all that there was of it may have been sent, and the job removed
      if (!job.feed.ack(params.stream, params.offset)) throw new Error(`job ${params.handle} has no stream ${params.stream}`);
      this.touch(job);
    } catch (err) {
      const text = `invalid job/ack, ignored; output may wait for a valid one: ${err.message}`;
      this.send(JSON.stringify({ jsonrpc: '2.0', method: 'log/message', params: { level: 'warning', text } }));
    }
  }

  // #pump writes as long as stdout takes it. Jobs take turns, with one message each.
  #pump() {
    if (this.brokenOut) return;
    while (!this.out.writableNeedDrain) {
      const answer = this.answers.shift();
      if (answer !== undefined) {
        this.answersSize -= answer.length;
        this.out.write(answer);
        continue;
      }
      const [job] = this.ready;
      if (!job) return;
      this.ready.delete(job);
      const text = job.feed.next();
      if (text === null) continue;
      this.out.write(this.framing.frame(text));
      job.hold();
      this.ready.add(job);
    }
  }

  // endJobs ends every job and resolves when all are closed. What waits is answered first.
  #endJobs() {
    this.state = 'ending';
    for (const abort of [...this.pending]) abort('shuttingDown');
    const closed = (job) => new Promise((resolve) => job.kill({ graceMs: this.settings.limits.shutdownGraceMs, reason: 'shutdown' }, resolve));
    return Promise.all(this.manager.live().map(closed));
  }

  async shutdown() {
    await this.#endJobs();
    this.state = 'down';
    return {};
  }

  // end is how the process ends, whatever the reason.
  async end() {
    if (this.ended) return;
    this.ended = true;
    if (this.state !== 'down') await this.#endJobs();
    await new Promise(setImmediate); // answers that were just settled are written
    await this.#flushed();
    process.exit(this.state === 'down' ? 0 : 1);
  }

  // #flushed resolves when stdout has taken all, or nothing for a while.
  #flushed() {
    return new Promise((resolve) => {
      let timer;
      const look = () => {
        clearTimeout(timer);
        if (this.brokenOut || (this.answers.length === 0 && this.ready.size === 0 && this.out.writableLength === 0)) return resolve();
        timer = setTimeout(resolve, stuckMs);
      };
      this.out.on('drain', () => setImmediate(look));
      this.out.on('error', resolve);
      look();
      // What is below the high-water mark drains without an event.
      if (this.out.writableLength > 0) this.out.write('', look);
    });
  }
}

new Server().listen();
