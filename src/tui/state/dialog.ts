import { formatUsd, NANO_PER_USD, parseUsd, usdNumber } from '../../money.ts';
import { budgetName, type Standing } from '../../store/budgets/budgets.ts';
import type { DashboardData } from '../../store/dashboard/reader.ts';
import type { WebhookHealth } from '../../store/dashboard/webhook-health.ts';
import type { Command, Done } from './command.ts';

/** A question that is being asked; nothing is changed before its last `y`. */
export type Dialog =
  | { kind: 'choose'; title: string; options: Choice[]; index: number }
  | { kind: 'amount'; standing: Standing; text: string; problem?: string }
  | { kind: 'confirm'; question: string; command: Command }
  | { kind: 'working'; command: Command }
  | { kind: 'done'; done: Done }
  | { kind: 'failed'; message: string };

export interface Choice {
  label: string;
  next: Dialog;
}

/** Asks for a new cap; twice the old one is proposed. */
export function askAmount(standing: Standing): Dialog {
  const { capNanoUsd } = standing.budget;
  const proposed = Math.max(capNanoUsd * 2, capNanoUsd === 0 ? NANO_PER_USD : 0);
  return { kind: 'amount', standing, text: String(usdNumber(proposed)) };
}

/** Reads the amount that was typed: the question that follows, or the same one with what is wrong. */
export function confirmAmount(dialog: Extract<Dialog, { kind: 'amount' }>): Dialog {
  const { standing, text } = dialog;
  const { budget } = standing;
  const capNanoUsd = parseUsd(text);
  if (capNanoUsd === undefined) return { ...dialog, problem: 'an amount in dollars, such as 20 or 0.50' };
  if (capNanoUsd <= budget.capNanoUsd)
    return { ...dialog, problem: `more than ${formatUsd(budget.capNanoUsd)}` };
  return {
    kind: 'confirm',
    question: `Raise ${budgetName(budget)} from ${formatUsd(budget.capNanoUsd)} to ${formatUsd(capNanoUsd)}?`,
    command: {
      kind: 'raise_budget',
      project: budget.projectName,
      period: budget.period,
      repo: budget.repo,
      windowMs: budget.windowMs,
      capNanoUsd,
    },
  };
}

export function askForKey({ projects }: DashboardData): Dialog {
  return choose(
    'Make a key of which project?',
    projects.map(({ name }) => ({
      label: name,
      next: {
        kind: 'confirm',
        question: `Make a key of project ${name}? It is shown once.`,
        command: { kind: 'create_key', project: name },
      },
    })),
  );
}

export function askForRevocation({ keys }: DashboardData): Dialog {
  return choose(
    'Revoke which key?',
    keys.map(({ id, project, hint, label, admin }) => {
      const name = `${id} ...${hint}${label === null ? '' : ` "${label}"`}`;
      const kind = admin ? 'admin key' : 'key';
      return {
        label: `${project}  ${kind} ${name}`,
        next: {
          kind: 'confirm',
          question: `Revoke ${kind} ${name} of ${project}? It stops working with its next request.`,
          command: { kind: 'revoke_key', id },
        },
      };
    }),
  );
}

export function askForPause({ projects }: DashboardData): Dialog {
  return choose(
    'Pause or resume which project?',
    projects.map(({ name, paused }) => ({
      label: paused ? `${name} (paused)` : name,
      next: {
        kind: 'confirm',
        question: paused
          ? `Resume project ${name}?`
          : `Pause project ${name}? Its requests are refused until it is resumed.`,
        command: { kind: paused ? 'resume_project' : 'pause_project', project: name },
      },
    })),
  );
}

export function askForReplay({ id, host, failed }: WebhookHealth): Dialog {
  if (failed === 0) return { kind: 'failed', message: `Nothing failed at wh_${id} (${host}).` };
  const what = failed === 1 ? 'the failed delivery' : `${failed} failed deliveries`;
  return {
    kind: 'confirm',
    question: `Send ${what} to wh_${id} (${host}) again?`,
    command: { kind: 'replay_webhook', id },
  };
}

/** One choice is no choice. */
function choose(title: string, options: Choice[]): Dialog {
  const [first, second] = options;
  if (!first) return { kind: 'failed', message: 'There is none.' };
  return second ? { kind: 'choose', title, options, index: 0 } : first.next;
}
