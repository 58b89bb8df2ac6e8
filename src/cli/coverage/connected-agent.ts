import { existsSync } from 'node:fs';
import type { Reader } from '../../operations/registry.ts';
import { plural } from '../../terminal/numbers.ts';
import type { TimeFormat } from '../../terminal/time.ts';
import type { Context } from '../context.ts';
import { remoteOf } from '../remote/connection.ts';
import type { ConnectedAgent, Limits } from './find-connected.ts';

/** Short enough for `gw status`, which some have in their prompt. */
const QUICK: Limits = { pastMs: 24 * 3_600_000, limitMs: 300 };

/** The agents that are connected to this machine's gw; none if commands go to another one. */
export async function checkConnectedAgents(
  context: Context,
  reader: Pick<Reader, 'calls'>,
  limits: Limits = QUICK,
): Promise<ConnectedAgent[]> {
  if (remoteOf(context) || !existsSync(context.paths.connections)) return [];
  // Loads the parsers of the agents' settings.
  const { findConnected } = await import('./find-connected.ts');
  return findConnected(context, reader, limits);
}

/** A warning about requests that bypassed gw; undefined if none did. */
export function bypassText(
  { agent, bypassed, since }: ConnectedAgent,
  times: TimeFormat,
  now: number,
): string | undefined {
  if (!bypassed) return undefined;
  return `! ${plural(bypassed, 'request')} of ${agent.name} since ${times.moment(since, now)} went around gw: gw coverage ${agent.name}`;
}

/** As `gw status --json` prints it. */
export function connectedAgentJson({ agent, state, connectedAt, since, bypassed, complete }: ConnectedAgent) {
  return {
    agent: agent.name,
    state,
    connected_at: new Date(connectedAt).toISOString(),
    checked_since: new Date(since).toISOString(),
    bypassed_requests: bypassed,
    checked_all: complete,
  };
}
