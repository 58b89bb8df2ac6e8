import { formatUsd } from '../../money.ts';
import type { BudgetView } from '../../operations/schemas/budgets.ts';
import { isSeveral } from '../../store/budgets/owner.ts';
import { ALL_PROJECTS } from '../../store/ledger/terms.ts';
import { capText } from '../../terminal/budget-words.ts';
import { createTimeFormat } from '../../terminal/time.ts';

/** What a budget is after it was set, in words. */
export function confirmation(budget: BudgetView, timezone: string, now: number): string {
  const { resets_at } = budget;
  // A reset does not reopen a cap of $0.
  const isShown = resets_at !== null && budget.period !== 'rolling' && budget.cap_nano_usd > 0;
  const resets = isShown
    ? `, resets ${createTimeFormat(timezone).moment(Date.parse(resets_at), now)} (${timezone})`
    : '';
  const counts = scopeText(budget);
  return `Budget ${budget.id}: ${formatUsd(budget.spent_nano_usd)} spent of ${capText(budget)}, alert at ${budget.alert_percents.map((percent) => `${percent}%`).join(', ')}${resets}. It applies from the next request.${counts}${limitText(budget)}${RUNAWAYS[budget.runaway]}`;
}

const RUNAWAYS: Readonly<Record<BudgetView['runaway'], string>> = {
  alert: '',
  ask: ' Sessions that run away wait for an answer: gw asks',
  block: ' Sessions that run away are stopped until: gw sessions resume ID',
};

function limitText({ on_limit, fallback, fallback_percent: from }: BudgetView): string {
  if (on_limit === 'ask') return ' Requests beyond it wait for an answer: gw asks';
  if (fallback === null) return '';
  const beyond = from < 100 ? `From ${from}% of it on, requests` : 'Requests beyond it';
  return ` ${beyond} go to ${fallback.join(', else ')}, as far as that fits.`;
}

/** The projects of a budget, in words. */
function projectsText(project: string): string {
  if (project === ALL_PROJECTS) return 'all projects';
  return isSeveral(project) ? `projects ${project.replaceAll(',', ', ')}` : `project ${project}`;
}

/** Scope of a budget in words, and how far it can be trusted. */
function scopeText({ project_id, scope }: BudgetView): string {
  const project = projectsText(project_id);
  if (scope === null) return isSeveral(project_id) ? ` It counts requests of ${project} together.` : '';
  switch (scope.kind) {
    case 'run':
      return '';
    case 'repo':
      return ` It counts requests of ${project} from ${scope.value}.`;
    case 'key':
      return scope.value === null
        ? ` It caps each key of ${project}.`
        : ` It counts requests of ${project} with key ${scope.value}.`;
    case 'session':
    case 'agent': {
      const what = scope.value === null ? `each ${scope.kind}` : `${scope.kind} ${scope.value}`;
      return ` It caps ${what} of ${project}, as far as the client says which that is: to be sure, cap the key too.`;
    }
    case 'model':
    case 'provider':
      return scope.value === null
        ? ` It caps each ${scope.kind} of ${project}.`
        : ` It counts requests of ${project} that ${scope.kind} ${scope.value} serves.`;
    default: {
      const label = scope.kind.slice('label:'.length);
      return scope.value === null
        ? ` It caps each value of the label ${label} in ${project}, which clients choose.`
        : ` It counts requests of ${project} with the label ${label}=${scope.value}, which clients choose.`;
    }
  }
}
