/** A client for shelld: commands, terminals, questions, ports and screens. */
export { ConnectError, RequestError, ServerEndedError, ShelldError, type ClientErrorKind } from './errors.js';
export {
  connect, ExitError, Shelld,
  type Callbacks, type CommandResult, type ConnectOptions, type Dollar, type RunOptions, type RunResult, type StartOptions,
} from './shelld.js';
export { Job, type ScreenText, type SearchOptions } from './job.js';
export type { ExecOptions, ExecResult } from './exec.js';
export { Chunk, type LineOptions, type OutputOptions } from './output.js';
export { attach, type AttachOptions, type MessageConnection } from './attach.js';
export { pseudoterminal, type Pseudoterminal } from './pseudoterminal.js';
export type { Command, TemplateValue } from './command.js';
export type { Event, EventMethod } from './events.js';
export type { RequestOptions } from './connection.js';
export type { Pipe, Terminal } from './pipe.js';
export type { ServerOptions } from './server.js';
export type { ReadableOptions } from './stream.js';
export type { Answer, QuestionOptions, Until, WaitOptions } from './wait.js';
export type * from './protocol.js';
