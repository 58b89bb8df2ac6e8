import { sep } from 'node:path';
import type { Agent } from '../../agents/agent.ts';
import { plural } from '../../terminal/numbers.ts';
import { type Context, homeOf } from '../context.ts';
import { withReader } from '../with-gateway.ts';

const LIMIT_MS = 1_000;

/**
 * How many requests an agent's log has that did not come through gw, since a time and from this folder or below. 0 where
 * that can't be told.
 */
export async function bypassedSince(context: Context, agent: Agent, since: number): Promise<number> {
  if (!agent.log) return 0;
  const { clock, env } = context;
  const deadline = clock.monotonic() + LIMIT_MS;
  const folder = process.cwd();
  try {
    const { findBypass } = await import('../../insight/coverage/find-bypass.ts');
    const found = await withReader(context, (reader) =>
      findBypass(agent, reader, {
        env,
        home: homeOf(context),
        since,
        now: clock.now(),
        isOver: () => clock.monotonic() > deadline,
        // Others may work elsewhere at the same time.
        concerns: ({ cwd }) => cwd === folder || cwd.startsWith(folder + sep),
      }),
    );
    return found?.bypassed.size ?? 0;
  } catch {
    // The program has run: its exit code is what counts.
    return 0;
  }
}

/** The bypass as a part of a run's summary. */
export function bypassedText(bypassed: number): string {
  return `${plural(bypassed, 'request')} did not come through gw`;
}
