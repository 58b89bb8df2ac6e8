import { plural } from '../../terminal/numbers.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import type { Context } from '../context.ts';
import { type ConnectedAgent, checkConnectedAgents } from '../coverage/connected-agent.ts';
import { readSettings } from '../settings.ts';
import { withReader } from '../with-gateway.ts';
import { type Finding, ok, warning } from './check.ts';

const LIMITS = { pastMs: 7 * 24 * 3_600_000, limitMs: 3_000 };

/** Checks that the settings of connected agents are as gw wrote them, and that their logs agree with the ledger. */
export async function checkAgents(context: Context): Promise<Finding[]> {
  const agents = await withReader(context, (reader) => checkConnectedAgents(context, reader, LIMITS));
  if (agents.length === 0) return [ok('agents', 'none connected; to see which there are: gw connect')];
  return agents.map((each) => findingOf(context, each));
}

function findingOf(context: Context, { agent, state, since, bypassed, complete }: ConnectedAgent): Finding {
  const { name, title } = agent;
  const times = createTimeFormat(readSettings(context).settings.timezone);
  const moment = times.moment(since, context.clock.now());
  if (bypassed) {
    const what = `${title} is connected, but its log has ${plural(bypassed, 'request')} since ${moment} that did not come through gw`;
    return warning('agents', what, `gw coverage ${name}, then start its running sessions again`);
  }
  if (state === 'changed')
    return warning('agents', `what gw wrote into the settings of ${title} was changed`, `gw connect ${name}`);
  if (bypassed === null) return ok('agents', `${title} is connected; gw can't read its log`);
  return ok(
    'agents',
    complete
      ? `${title} is connected; nothing in its log since ${moment} went around gw`
      : `${title} is connected; nothing in the newest part of its log went around gw. To read all of it: gw coverage ${name}`,
  );
}
