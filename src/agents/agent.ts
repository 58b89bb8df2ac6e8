import type { Connecting } from './connect/connecting.ts';
import type { AgentLog } from './logs/logged-call.ts';
import type { Pointing, Start } from './run/start.ts';

/** The names in commands. */
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
  | 'gemini';

/** An API that an agent speaks: chat completions, OpenAI's responses, Anthropic's messages. */
type AgentWire = 'chat' | 'messages' | 'responses';

/** A coding agent, as data. */
export interface Agent {
  name: AgentName;
  /** The name that its makers use. */
  title: string;
  /** Names of its executable, without an extension. */
  binaries: readonly string[];
  /** Names of its package, as npx and uvx take them. */
  packages: readonly string[];
  wires: readonly AgentWire[];
  /** Points one run at gw in the way that beats the user's own settings. */
  pointRun(start: Start): Pointing;
  /** Its own login can go through gw: what `--subscription` asks for. */
  hasSubscription?: true;
  /** How its own settings are pointed at gw; a text says why they can't be. */
  connect: Connecting | string;
  /** One harmless model request; undefined if none is known. */
  proof?: Proof;
  /** Request headers that carry its session, the best first. */
  sessionHeaders: readonly string[];
  /** Its session logs, where gw can read them. */
  log?: AgentLog;
}

/** A run that makes a model request and changes nothing. Run it in an empty folder. */
interface Proof {
  args(model: string | undefined): readonly string[];
  env?: Readonly<Record<string, string>>;
  /** How many model requests it makes. */
  requests: number;
}
