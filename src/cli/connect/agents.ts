import { readdirSync, readFileSync } from 'node:fs';
import type { Agent } from '../../agents/agent.ts';
import type { Connecting, Endpoint } from '../../agents/connect/connecting.ts';
import { type Makers, makerOf } from '../../agents/run/makers.ts';
import type { Files } from '../../agents/run/start.ts';
import { SettingsConflict, SettingsSyntaxError } from '../../agents/settings/change.ts';
import { AGENTS } from '../../agents/table.ts';
import { orElse } from '../../errors.ts';
import { type Context, homeOf } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { knownProviders } from '../known-providers.ts';
import { remoteOf } from '../remote/connection.ts';
import { readSettings } from '../settings.ts';

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
  access: Pick<Endpoint, 'origin' | 'key' | 'model' | 'subscription' | 'statusLine'>,
): Endpoint {
  return {
    ...access,
    env: context.env,
    home: homeOf(context),
    platform: process.platform,
    ownApis: ownApisReached(context, access),
    files: { ...realFiles, list: () => [] },
  };
}

/** The file system that agents keep their settings in. */
export const realFiles: Files = {
  read(path) {
    return orElse(() => readFileSync(path, 'utf8'), undefined);
  },
  list(path) {
    return orElse(() => readdirSync(path), []);
  },
};

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
    if (error instanceof SettingsConflict)
      throw new CliError(`cannot edit ${path}: ${error.message}. Nothing was changed in it`);
    throw error;
  }
}

/** Throws if an agent can't use its own login through gw. The settings of a gw elsewhere show at the first request. */
export function checkSubscription(context: Context, agent: Agent | undefined): void {
  if (!agent?.hasSubscription) {
    const names = AGENTS.filter(({ hasSubscription }) => hasSubscription).map(({ name }) => name);
    throw usageError(`--subscription works with ${names.join(' and ')} only`);
  }
  if (remoteOf(context) || readSettings(context).settings['passthrough.subscriptions'] === 'allow') return;
  throw new CliError(
    `gw does not pass logins on: passthrough.subscriptions is refuse. Read the terms of your plan, then: gw config set passthrough.subscriptions allow`,
  );
}

/** OpenAI has hosts of its own in some regions: https://developers.openai.com/api/docs/guides/your-data */
const HOSTS: Readonly<Record<keyof Makers, RegExp>> = {
  anthropic: /^api\.anthropic\.com$/,
  openai: /^(?:\w+\.)?api\.openai\.com$/,
};

/**
 * Whose models end at their maker's own API. Claude Code's login goes there whatever gw's providers are, and of a gw
 * elsewhere it is assumed for Anthropic.
 */
export function ownApisReached(context: Context, { subscription }: { subscription: boolean }): Makers {
  if (subscription || remoteOf(context)) return { anthropic: true, openai: false };
  const { providers } = knownProviders(context);
  const redirected = Object.keys(readSettings(context).settings.aliases).map(makerOf);
  const isReached = (maker: keyof Makers) => {
    const origin = providers.get(maker)?.origin;
    return origin !== undefined && HOSTS[maker].test(new URL(origin).hostname) && !redirected.includes(maker);
  };
  return { anthropic: isReached('anthropic'), openai: isReached('openai') };
}
