import type { Connecting } from './connect/connecting.ts';
import type { AgentLog } from './logs/logged-call.ts';
import type { Pointing, Start } from './run/start.ts';

/** Names of agents in commands. */
type AgentName =
  | 'codex'
  | 'claude'
  | 'opencode'
  | 'kilo'
  | 'cline'
  | 'continue'
  | 'qwen'
  | 'copilot'
  | 'aider'
  | 'goose'
  | 'crush'
  | 'pi'
  | 'openhands'
  | 'gemini'
  | 'cursor';

export interface Agent {
  name: AgentName;
  /** Display name. */
  title: string;
  /** Names of the executable, without extension. */
  binaries: readonly string[];
  /** Package names for npx and uvx. */
  packages: readonly string[];
  /** Arguments, variables and files that point one run at gw and override the user's settings. */
  pointRun(start: Start): Pointing;
  /** The agent's own login works through gw (`--subscription`). */
  hasSubscription?: true;
  /** Edits that point the agent's settings at gw, or the reason why that is impossible. */
  connect: Connecting | string;
  /** Run that makes a harmless model request; undefined if none is known. */
  proof?: Proof;
  /** Request headers with the session id, in order of preference. */
  sessionHeaders: readonly string[];
  /** Undefined if gw can't read the agent's session logs. */
  log?: AgentLog;
}

/** An agent whose calls can be read from a file. */
export type LoggedAgent = Pick<Agent, 'name' | 'title' | 'log'>;

/** A run that makes model requests and changes no files. Must run in an empty folder. */
interface Proof {
  args(model: string | undefined): readonly string[];
  env?: Readonly<Record<string, string>>;
}
