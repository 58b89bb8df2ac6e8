import type { Agent } from '../../agents/agent.ts';
import { AGENTS } from '../../agents/table.ts';
import type { Context } from '../context.ts';
import { CliError, usageError } from '../exit.ts';
import { remoteOf } from '../remote/connection.ts';
import { readSettings } from '../settings.ts';

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
