import { formatUsd, NANO_PER_USD, parseUsd, usdNumber } from '../../money.ts';
import { type BudgetChange, budgetNameOf } from '../../operations/budget-scope.ts';
import type { DashboardReading } from '../../operations/reader.ts';
import type { AskView } from '../../operations/schemas/asks.ts';
import type { BudgetView } from '../../operations/schemas/budgets.ts';
import type { WebhookHealth } from '../../store/dashboard/webhook-health.ts';

/** An open dialog. A command runs only after the user confirms with `y`. */
export type Dialog =
  | { kind: 'choose'; title: string; options: Choice[]; index: number }
  | { kind: 'amount'; budget: BudgetView; text: string; problem?: string }
  | { kind: 'confirm'; question: string; command: Command }
  | { kind: 'working'; command: Command }
  | { kind: 'done'; result: CommandResult; top: number }
  | { kind: 'failed'; message: string };

interface Choice {
  label: string;
  next: Dialog;
}

/** Dialog to approve or deny a waiting request. */
export function askForAnswer({ asks, budgets }: DashboardReading): Dialog {
  return choose(
    'Answer which request?',
    asks.map((ask) => ({
      label: `${ask.budget_id}  ${ask.agent ?? ''} ${ask.model} needs ${formatUsd(ask.needed_nano_usd)}`,
      next: askApproval(ask, budgets),
    })),
  );
}

function askApproval({ id, model, budget_id, needed_nano_usd }: AskView, budgets: BudgetView[]): Dialog {
  const needed = formatUsd(needed_nano_usd);
  const budget = budgets.find((each) => each.id === budget_id);
  const confirm = (question: string, command: Command): Dialog => ({ kind: 'confirm', question, command });
  return {
    kind: 'choose',
    title: `A request to ${model} needs up to ${needed}, and budget ${budget_id} has no room for it.`,
    options: [
      {
        label: 'approve this request alone',
        next: confirm(`Let this request cost up to ${needed} beyond ${budget_id}?`, {
          kind: 'approve_ask',
          id,
        }),
      },
      ...(budget ? [{ label: 'raise the budget', next: askAmount(budget) }] : []),
      { label: 'deny it', next: confirm('Refuse this request?', { kind: 'deny_ask', id }) },
    ],
    index: 0,
  };
}

/** Dialog for a new cap. Proposes twice the old one. */
export function askAmount(budget: BudgetView): Dialog {
  const { cap_nano_usd: capNanoUsd } = budget;
  const proposed = Math.max(capNanoUsd * 2, capNanoUsd === 0 ? NANO_PER_USD : 0);
  return { kind: 'amount', budget, text: String(usdNumber(proposed)) };
}

/** Parses the typed amount. Returns the confirmation dialog, or the same dialog with the problem. */
export function confirmAmount(dialog: Extract<Dialog, { kind: 'amount' }>): Dialog {
  const { budget, text } = dialog;
  const capNanoUsd = parseUsd(text);
  if (capNanoUsd === undefined)
    return { ...dialog, problem: 'enter an amount in dollars, such as 20 or 0.50' };
  if (capNanoUsd <= budget.cap_nano_usd)
    return { ...dialog, problem: `enter more than ${formatUsd(budget.cap_nano_usd)}` };
  return {
    kind: 'confirm',
    question: `Raise ${budget.id} from ${formatUsd(budget.cap_nano_usd)} to ${formatUsd(capNanoUsd)}?`,
    command: {
      kind: 'raise_budget',
      ...budgetNameOf(budget),
      ...(budget.window_seconds === null ? {} : { windowMs: budget.window_seconds * 1_000 }),
      capNanoUsd,
    },
  };
}

export function askForKey({ projects }: DashboardReading): Dialog {
  return choose(
    'Create a key for which project?',
    projects.map(({ name }) => ({
      label: name,
      next: {
        kind: 'confirm',
        question: `Create a key for project ${name}? It is shown only once.`,
        command: { kind: 'create_key', project: name },
      },
    })),
  );
}

export function askForRevocation({ keys }: DashboardReading): Dialog {
  return choose(
    'Revoke which key?',
    keys.map(({ id, project, hint, label, admin }) => {
      const name = `${id} ...${hint}${label === null ? '' : ` "${label}"`}`;
      const kind = admin ? 'admin key' : 'key';
      return {
        label: `${project}  ${kind} ${name}`,
        next: {
          kind: 'confirm',
          question: `Revoke ${kind} ${name} of ${project}? It stops working at once.`,
          command: { kind: 'revoke_key', id },
        },
      };
    }),
  );
}

export function askForPause({ projects }: DashboardReading): Dialog {
  return choose(
    'Pause or resume which project?',
    projects.map(({ name, paused }) => ({
      label: paused ? `${name} (paused)` : name,
      next: {
        kind: 'confirm',
        question: paused
          ? `Resume project ${name}?`
          : `Pause project ${name}? gw refuses its requests until it is resumed.`,
        command: { kind: paused ? 'resume_project' : 'pause_project', project: name },
      },
    })),
  );
}

/** Dialog to pause all projects, or to resume them if all are paused. */
export function askToStopAll({ projects }: DashboardReading): Dialog {
  const isStopped = projects.every(({ paused }) => paused);
  return {
    kind: 'confirm',
    question: isStopped
      ? 'Resume all projects?'
      : 'STOP EVERYTHING: pause all projects and cut their running requests?',
    command: { kind: isStopped ? 'resume_all' : 'stop_all' },
  };
}

export function askForReplay({ id, host, failed }: WebhookHealth): Dialog {
  if (failed === 0) return { kind: 'failed', message: `No failed deliveries to wh_${id} (${host}).` };
  const deliveries = failed === 1 ? 'the failed delivery' : `${failed} failed deliveries`;
  return {
    kind: 'confirm',
    question: `Send ${deliveries} to wh_${id} (${host}) again?`,
    command: { kind: 'replay_webhook', id },
  };
}

/** Skips the dialog if there is only one option. */
function choose(title: string, options: Choice[]): Dialog {
  const [first, second] = options;
  if (!first) return { kind: 'failed', message: 'Nothing to choose from.' };
  return second ? { kind: 'choose', title, options, index: 0 } : first.next;
}

/** A change that the dashboard can make. */
export type Command =
  | ({ kind: 'raise_budget' } & BudgetChange)
  | { kind: 'approve_ask'; id: string }
  | { kind: 'deny_ask'; id: string }
  | { kind: 'create_key'; project: string }
  | { kind: 'revoke_key'; id: number }
  | { kind: 'replay_webhook'; id: number }
  | { kind: 'pause_project'; project: string }
  | { kind: 'resume_project'; project: string }
  | { kind: 'stop_all' }
  | { kind: 'resume_all' }
  | { kind: 'run_gw'; args: string[] };

/** The outcome of a command. A secret is shown once. */
export interface CommandResult {
  message: string;
  secret?: string;
  /** Lines that a command printed. */
  output?: string[];
}
