import { formatUsd } from '../../money.ts';
import type { StatusFigures } from '../../store/dashboard/status-line.ts';
import { percent } from '../../terminal/numbers.ts';

/** The status line. `figures` is undefined if nothing is recorded yet. */
export function statusText(figures: StatusFigures | undefined, isRunning: boolean): string {
  const parts = isRunning ? [] : ['not running: gw start'];
  if (figures) {
    const { session, today, tightest, windows } = figures;
    if (session !== undefined) parts.push(`${formatUsd(session)} session`);
    parts.push(`${formatUsd(today)} today`);
    if (tightest) parts.push(`${formatUsd(tightest.left)} left of ${tightest.name}`);
    for (const { name, used } of windows) parts.push(`${name} ${percent(used)}`);
  }
  return `gw ${parts.join(' · ') || 'has no requests yet'}`;
}

/** The agent's id of its session, in the JSON that Claude Code and Copilot CLI write; '' if there is none. */
export function sessionIn(input: string): string {
  try {
    const { session_id: id, sessionId = id } = JSON.parse(input) as Record<string, unknown>;
    return typeof sessionId === 'string' ? sessionId : '';
  } catch {
    return '';
  }
}

/** The line after the output of the command that it is wrapped around. */
export function wrapped(output: string, line: string): string {
  const before = output.trimEnd();
  return before === '' ? line : `${before} | ${line}`;
}
