import { formatUsd } from '../../money.ts';
import type { UsageView } from '../../operations/schemas/usage.ts';
import { percent, plural } from '../../terminal/numbers.ts';
import type { Context } from '../context.ts';
import { billWithout, readReports } from '../optimize/report.ts';
import { remoteOf } from '../remote/connection.ts';

/** What stands below a report of usage, an empty line first: what was saved, missed, refused. `shares` are of `savedShares`. */
export function remarks(total: UsageView['total'], shares: readonly string[] = []): string[] {
  const { saved_tokens, missed_tokens, blocked_requests, failed_requests, unpriced_requests } = total;
  const replays = total.replayed_requests;
  const saved = `saved ${formatUsd(total.saved_nano_usd)} and`;
  const prices = 'gw prices set MODEL --input X --output Y';
  const lines = [
    (saved_tokens > 0 || replays > 0) && `${saved} ${plural(saved_tokens, 'token')}`,
    ...shares,
    replays > 0 && `${plural(replays, 'request')} answered from disk: replay.ttl`,
    missed_tokens > 0 && `${plural(missed_tokens, 'token')} missed in the providers' caches: gw cache`,
    blocked_requests > 0 && `${plural(blocked_requests, 'request')} blocked: gw requests --status blocked`,
    failed_requests > 0 && `${plural(failed_requests, 'request')} failed: gw requests --status failed`,
    unpriced_requests > 0 && `${plural(unpriced_requests, 'request')} unpriced, not in the totals: ${prices}`,
  ].filter((line) => line !== false);
  return lines.length > 0 ? ['', ...lines] : [];
}

/**
 * What compression saved of the bill of each project, against its conversations that were held out, with the error of that;
 * empty where too few were, and of a gw elsewhere, whose trials are not told.
 */
export async function savedShares(context: Context, project: string | undefined): Promise<string[]> {
  if (remoteOf(context)) return [];
  const reports = await readReports(context, project);
  return reports
    .filter(({ outcome }) => outcome.verdict !== 'too_few' && billWithout(outcome) > 0)
    .map(({ project: name, outcome }) => {
      const bill = billWithout(outcome);
      const [share, margin] = [outcome.savedNanoUsd / bill, outcome.marginNanoUsd / bill];
      const did = share < 0 ? `cost ${percent(-share)}` : `saved ${percent(share)}`;
      return `project ${name}: compression ${did} of the bill, give or take ${percent(margin)}: gw optimize report`;
    });
}
