import type { Access } from '../run/start.ts';
import type { Change, SettingValue, Step } from '../settings/change.ts';
import type { FileEdit } from '../settings/edit-file.ts';

/** The gw endpoint to connect an agent to. */
export interface Endpoint extends Access {
  /** Default model; undefined keeps the agent's choice. */
  model: string | undefined;
  /** Command of gw's status line; undefined if the agent shouldn't show it. */
  statusLine?: string | undefined;
}

/** Edits of an agent's settings that point it at gw. */
export interface Connecting {
  /** Whether connecting the agent requires a model. */
  needsModel: boolean;
  /** Model that the settings already name; for agents that need one. */
  ownModel?(endpoint: Endpoint): string | undefined;
  edits(endpoint: Endpoint): FileEdit[];
  /** Options of the proof run that select the model, if the settings don't. */
  proof?(model: string | undefined): { model?: string; env?: Readonly<Record<string, string>> };
  /** Notes to show before connecting. */
  notes?(endpoint: Endpoint): string[];
}

/** gw's sandbox model: costs nothing and needs no provider. */
export const FREE_MODEL = 'sandbox/free';

/** Changes that set members of the object at `path`. */
export function membersOf(path: readonly Step[], members: Record<string, SettingValue | null>): Change[] {
  return Object.entries(members).map(([name, value]) => ({ path: [...path, name], value }));
}

/** Changes that set members only if they are missing, such as members that the agent requires. */
export function defaultsOf(path: readonly Step[], members: Record<string, SettingValue>): Change[] {
  return membersOf(path, members).map((change) => ({ ...change, isDefault: true }));
}

/** The user's XDG configuration folder, which these agents use on all systems. */
export function configHome({ env, home }: Pick<Endpoint, 'env' | 'home'>): string {
  return env.XDG_CONFIG_HOME || `${home}/.config`;
}
