import { readFileSync } from 'node:fs';
import type { Agent } from '../../agents/agent.ts';
import type { Connecting, Endpoint } from '../../agents/connect/connecting.ts';
import { SettingsConflict, SettingsSyntaxError } from '../../agents/settings/change.ts';
import { AGENTS } from '../../agents/table.ts';
import { ownApisReached } from '../client/own-apis.ts';
import { type Context, homeOf } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit.ts';

/** The agent of a name: `claude` is also the package's `claude-code`. */
export function findAgent(name: string): Agent | undefined {
  return AGENTS.find((each) => each.name === (name === 'claude-code' ? 'claude' : name));
}

/** The agent of a name. Exit code 5 for an unknown one. */
export function agentNamed(name: string): Agent {
  const agent = findAgent(name);
  if (agent) return agent;
  throw new CliError(
    `gw knows no agent "${name}". It knows ${AGENTS.map((each) => each.name).join(', ')}`,
    EXIT.notFound,
  );
}

/** How an agent is connected. Throws for one that can only be run by gw. */
export function connectingOf({ title, connect }: Agent): Connecting {
  if (typeof connect === 'string') throw new CliError(`gw can't connect ${title}: ${connect}`);
  return connect;
}

/** The model to connect an agent with: the one asked for, else, if it needs one, that of its settings. */
export function modelFor(context: Context, agent: Agent, asked: string | undefined): string | undefined {
  const { needsModel, ownModel } = connectingOf(agent);
  if (asked !== undefined || !needsModel) return asked;
  const model = ownModel?.(endpointOf(context, { origin: '', key: '', model: asked, subscription: false }));
  if (model) return model;
  throw usageError(
    `${agent.title} needs the name of a model, and its settings name none. Run: gw connect ${agent.name} --model MODEL. See: gw models`,
  );
}

/** An endpoint for this machine's files. */
export function endpointOf(
  context: Context,
  {
    origin,
    key,
    model,
    subscription,
    statusLine,
  }: Pick<Endpoint, 'origin' | 'key' | 'model' | 'subscription' | 'statusLine'>,
): Endpoint {
  const read = (path: string) => {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return undefined;
    }
  };
  const { env } = context;
  return {
    env,
    home: homeOf(context),
    platform: process.platform,
    origin,
    key,
    model,
    subscription,
    ownApis: ownApisReached(context, { subscription }),
    statusLine,
    files: { read, list: () => [] },
  };
}

/** Runs an edit. Its errors name the file and the way on. */
export function editing<T>(path: string, edit: () => T): T {
  try {
    return edit();
  } catch (error) {
    if (error instanceof SettingsSyntaxError) {
      throw new CliError(
        `cannot edit ${path}: ${error.message}. Mend it and try again; nothing was changed in it`,
      );
    }
    if (error instanceof SettingsConflict) {
      throw new CliError(`cannot edit ${path}: ${error.message}. Nothing was changed in it`);
    }
    throw error;
  }
}
