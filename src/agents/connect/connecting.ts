import type { Makers } from '../run/makers.ts';
import type { Environment, Files } from '../run/start.ts';
import type { Change, SettingValue, Step } from '../settings/change.ts';
import type { FileEdit } from '../settings/edit-file.ts';

/** What an agent is connected to. Tests pass their own files. */
export interface Endpoint {
  env: Environment;
  /** The user's home directory. */
  home: string;
  platform: NodeJS.Platform;
  /** gw's URL, without a trailing slash or `/v1`. */
  origin: string;
  /** The gw key of this agent. */
  key: string;
  /** The agent keeps its own login, and gw's key goes out beside it. */
  subscription: boolean;
  /** Whose models end at their maker's own API. */
  ownApis: Makers;
  /** The model to use by default; undefined leaves the agent's own choice. */
  model: string | undefined;
  /** The command of gw's status line, if the agent is to show it. */
  statusLine?: string | undefined;
  files: Files;
}

/** How an agent's own settings are pointed at gw. */
export interface Connecting {
  /** Whether the agent can't be connected without a model. */
  needsModel: boolean;
  /** The model that its settings name already; for agents that need one. */
  ownModel?(endpoint: Endpoint): string | undefined;
  edits(endpoint: Endpoint): FileEdit[];
  /** How the proof is asked to use a model, where its settings don't say so already. */
  proof?(model: string | undefined): ProofRun;
  /** What the user should know before it is done. */
  notes?(endpoint: Endpoint): string[];
}

/** What a proof is run with. */
interface ProofRun {
  model?: string;
  env?: Readonly<Record<string, string>>;
}

/** A model of gw's own that costs nothing and needs no provider. */
export const FREE_MODEL = 'sandbox/free';

/** Changes of the members of one object. */
export function membersOf(path: readonly Step[], members: Record<string, SettingValue | null>): Change[] {
  return Object.entries(members).map(([name, value]) => ({ path: [...path, name], value }));
}

/** Members that an agent needs to read the object at all; the user's stay. */
export function defaultsOf(path: readonly Step[], members: Record<string, SettingValue>): Change[] {
  return membersOf(path, members).map((change) => ({ ...change, isDefault: true }));
}

/** The user's folder for settings by the XDG specification, which these agents follow on all systems. */
export function configHome({ env, home }: Pick<Endpoint, 'env' | 'home'>): string {
  return env.XDG_CONFIG_HOME || `${home}/.config`;
}
