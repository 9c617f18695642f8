// What this server says of itself. Each list is what it really does on this machine.
import os from 'node:os';
import fs from 'node:fs';
import { keyNames } from './input.js';
import { pty } from './launch.js';

export const modes = pty ? ['pty', 'pipe'] : ['pipe'];
export const events = ['started', 'output', 'patternMatched', 'watchRemoved', 'stateChanged', 'exited', 'closed'];
export const signals = Object.keys(os.constants.signals);

export const defaultLimits = {
  maxJobs: 512, maxMessageBytes: 16 << 20, spoolMemoryBytes: 4 << 20, spoolDiskBytes: 0, spoolTotalBytes: 0,
  inputQueueBytes: 1 << 20, shutdownGraceMs: 2000, windowBytes: 1 << 20,
};

const known = ['bash', 'zsh', 'dash', 'ksh', 'sh', 'ash', 'mksh', 'busybox'];
const ofUser = process.env.SHELL && known.includes(process.env.SHELL.split('/').pop()) ? process.env.SHELL : null;
export const shellPath = [ofUser, '/bin/bash', '/usr/bin/bash'].find((p) => p && fs.existsSync(p)) ?? '/bin/sh';

export const platform = {
  os: process.platform === 'win32' ? 'windows' : process.platform,
  arch: { x64: 'amd64', ia32: '386' }[process.arch] ?? process.arch,
  shell: shellPath.split('/').pop(),
  shellPath,
  canonicalLineLimit: process.platform === 'linux' ? 4095 : 1023,
};

const features = { pipelines: true, redirects: true, backgroundJobs: true, heredoc: true };
const posix = { commandSeparator: '&&', environmentPrefix: '$', features };

// whole is what platform/get tells. No shell is asked for its version.
export function whole() {
  const { os: name, ...rest } = platform;
  const others = known.flatMap((name) => ['/bin', '/usr/bin', '/usr/local/bin'].map((dir) => `${dir}/${name}`).find((p) => fs.existsSync(p)) ?? []);
  const shells = [shellPath, ...others.filter((p) => p !== shellPath && !p.endsWith('/busybox'))].map((p, i) => ({
    name: p.split('/').pop(), path: p, family: 'posix', version: null, ...(i === 0 && { default: true }), ...posix,
  }));
  return { platform: name, version: os.release(), pathSeparator: '/', ...rest, ...posix, shells };
}

export const capabilities = (methods) => ({
  framings: ['header', 'line'],
  modes,
  methods,
  events,
  conditions: ['exit', 'closed', 'pattern', 'quietMs', 'bytes'],
  keys: keyNames,
  encodings: ['text', 'base64'],
  readFormats: ['text', 'plain', 'base64'],
  waitFormats: ['plain', 'text'],
  treeControl: {
    kind: 'none',
    reaches: ['the process group of the command'],
    survivesServer: true,
    notReached: ['processes that left the group, such as the background jobs of an interactive shell', 'anything, when the server is ended by SIGKILL'],
  },
  inputDetection: { tier: 'none', why: 'Node cannot see what a process is blocked on' },
  screen: { formats: [] },
  signals,
  ack: true,
  confirm: false,
  levels: { core: 'partial', trees: 'none', terminal: 'none', store: 'none', policy: 'none' },
});
