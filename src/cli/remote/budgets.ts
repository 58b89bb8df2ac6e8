import { NANO_PER_USD, usdNumber } from '../../money.ts';
import type { AskRemote } from '../../remote/client.ts';
import type { BudgetKey, BudgetPeriod, BudgetSettings, Standing } from '../../store/budgets/budgets.ts';
import type { ScopeKind } from '../../store/ledger/terms.ts';

/** The terms of a budget that commands name, whoever keeps them. */
export type Terms = Pick<
  Standing['budget'],
  'projectName' | 'period' | 'repo' | 'scopeKind' | 'scopeValue' | 'capNanoUsd' | 'windowMs' | 'alertPercent'
>;

/** What is said of a budget after a change. */
export interface Confirmed extends Pick<Standing, 'posted' | 'resetsAt'> {
  budget: Terms;
}

/** A budget in the answers of a remote gw, which its own tests hold. */
interface Answer {
  project_id: string;
  period: BudgetPeriod;
  repo: string | null;
  scope: { kind: ScopeKind | 'repo'; value: string } | null;
  window_seconds: number | null;
  cap_usd: number;
  alert_percent: number;
  spent_usd: number;
  resets_at: string | null;
}

/** Sets a budget there. Returns the answer as `--json` prints it. */
export async function setRemoteBudget(
  ask: AskRemote,
  project: string,
  { period, capNanoUsd, alertPercent, windowMs, repo }: BudgetSettings,
): Promise<{ answer: unknown; confirmed: Confirmed }> {
  const body = {
    project_id: project,
    period,
    cap_usd: usdNumber(capNanoUsd),
    alert_percent: alertPercent,
    window_seconds: windowMs === undefined ? undefined : windowMs / 1000,
    repo,
  };
  const answer = await ask({ method: 'PUT', path: '/v1/gw/budgets', body });
  return { answer, confirmed: confirmedOf(answer as Answer) };
}

/** The budgets of a project, or of all that the key may see. */
export async function listRemoteTerms(ask: AskRemote, project: string | undefined): Promise<Terms[]> {
  const { data } = (await ask({ path: '/v1/budgets', query: { project_id: project } })) as { data: Answer[] };
  return data.map((answer) => confirmedOf(answer).budget);
}

export async function removeRemoteBudget(
  ask: AskRemote,
  { projectName, period, repo, scopeKind, scopeValue }: BudgetKey,
): Promise<void> {
  const path = `/v1/budgets/${encodeURIComponent(projectName)}/${period}`;
  await ask({
    method: 'DELETE',
    path,
    query: { repo: repo || undefined, ...(scopeKind && { [scopeKind]: scopeValue }) },
  });
}

function confirmedOf(answer: Answer): Confirmed {
  const { kind, value } = answer.scope ?? {};
  return {
    budget: {
      projectName: answer.project_id,
      period: answer.period,
      repo: answer.repo ?? '',
      scopeKind: kind === undefined || kind === 'repo' ? '' : kind,
      scopeValue: kind === undefined || kind === 'repo' ? '' : (value ?? ''),
      capNanoUsd: nano(answer.cap_usd),
      windowMs: answer.window_seconds === null ? null : answer.window_seconds * 1000,
      alertPercent: answer.alert_percent,
    },
    posted: nano(answer.spent_usd),
    resetsAt: answer.resets_at === null ? Number.POSITIVE_INFINITY : Date.parse(answer.resets_at),
  };
}

function nano(usd: number): number {
  return Math.round(usd * NANO_PER_USD);
}
