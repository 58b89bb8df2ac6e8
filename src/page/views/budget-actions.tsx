import type { BudgetView } from '../../operations/schemas/budgets.ts';
import type { ProjectView } from '../../operations/schemas/projects.ts';
import { capText } from '../../terminal/budget-words.ts';
import { parseDuration } from '../../terminal/time.ts';
import { Action, Field } from '../parts/action.tsx';
import { ask } from '../state/ask.ts';
import { scopeToQuery } from '../state/scope.ts';

const PERIODS = ['daily', 'weekly', 'monthly', 'lifetime'] as const;
const WHEN_FULL = [
  ['block', 'refuse the request'],
  ['ask', 'ask me first'],
  ['fallback', 'go to a cheaper model'],
] as const;

type Fields = Readonly<Record<string, string>>;

/** Throws Error for what is no percent. */
function alertsIn({ alerts = '' }: Fields): number[] {
  const percents = alerts
    .split(/[\s,%]+/)
    .filter(Boolean)
    .map(Number);
  if (percents.some((percent) => !Number.isInteger(percent)))
    throw new Error(`"${alerts}": use percents such as 50, 80`);
  return percents;
}

const RUNAWAYS = [
  ['alert', 'are shown'],
  ['ask', 'wait for an answer'],
  ['block', 'are stopped'],
] as const;

/** Throws Error without a model to go to. */
function limitIn({ onLimit, fallback = '', from = '', runaway: chosen }: Fields) {
  const runaway = RUNAWAYS.find(([value]) => value === chosen)?.[0] ?? 'alert';
  if (onLimit !== 'fallback') return { on_limit: onLimit === 'ask' ? 'ask' : 'block', runaway } as const;
  const names = fallback.split(/[\s,]+/).filter(Boolean);
  if (names.length === 0) throw new Error('name the cheaper models, such as openai/gpt-5-mini');
  const percent = from === '' ? {} : { fallback_percent: Number(from.replace('%', '')) };
  return { on_limit: 'fallback', fallback: names, ...percent, runaway } as const;
}

function LimitFields({ budget }: { budget?: BudgetView }) {
  const { on_limit = 'block', fallback, fallback_percent: from = 100, runaway = 'alert' } = budget ?? {};
  return (
    <>
      <Field name="onLimit" label="When it is full" value={on_limit} choices={WHEN_FULL} />
      <Field name="fallback" label="Cheaper models" value={fallback?.join(', ') ?? ''} />
      <Field name="from" label="Used from (%)" value={String(from)} />
      <Field name="runaway" label="Sessions that run away" value={runaway} choices={RUNAWAYS} />
    </>
  );
}

export function NewBudget({ projects }: { projects: readonly ProjectView[] }) {
  return (
    <Action
      name="Add"
      of="a budget"
      run={(fields) =>
        ask('PUT /v1/gw/budgets', {
          project_id: fields.project,
          period: PERIODS.find((period) => period === fields.period) ?? 'daily',
          cap_usd: fields.cap ?? '',
          alert_percents: alertsIn(fields),
          ...limitIn(fields),
        })
      }
    >
      <Field
        name="project"
        label="Project"
        choices={[
          ...projects.map(({ project_id: id }) => [id, id] as const),
          ...(projects.length > 1 ? [['@all', 'all together'] as const] : []),
        ]}
      />
      <Field name="period" label="Period" choices={PERIODS.map((period) => [period, period] as const)} />
      <Field name="cap" label="Cap ($)" isNeeded />
      <Field name="alerts" label="Alerts at (%)" value="80" />
      <LimitFields />
    </Action>
  );
}

export function SetBudget({ budget }: { budget: BudgetView }) {
  return (
    <Action
      name="Change"
      of={budget.id}
      run={(fields) =>
        ask('PUT /v1/gw/budgets', {
          project_id: budget.project_id,
          period: budget.period,
          ...(budget.window_seconds === null ? {} : { window_seconds: budget.window_seconds }),
          ...(budget.repo === null ? { scope: budget.scope } : { repo: budget.repo }),
          cap_usd: fields.cap ?? '',
          alert_percents: alertsIn(fields),
          ...limitIn(fields),
        })
      }
    >
      <Field name="cap" label="Cap ($)" value={String(budget.cap_usd)} isNeeded />
      <Field name="alerts" label="Alerts at (%)" value={budget.alert_percents.join(', ')} />
      <LimitFields budget={budget} />
    </Action>
  );
}

export function RaiseBudget({ budget }: { budget: BudgetView }) {
  return (
    <Action
      name="Raise"
      of={budget.id}
      run={async ({ amount = '', time = '' }) => {
        const ms = time === '' ? undefined : parseDuration(time);
        if (time !== '' && ms === undefined)
          throw new Error(`"${time}" is no duration: use one such as 1h or 30m`);
        return ask('POST /v1/gw/budgets/raise', {
          budget_id: budget.id,
          amount_usd: Number(amount),
          ...(ms === undefined ? {} : { for_seconds: ms / 1_000 }),
        });
      }}
    >
      <p>The cap is {capText(budget)} now.</p>
      <Field name="amount" label="Raise by ($)" isNeeded />
      <Field
        name="time"
        label="For"
        value="1h"
        hint="Such as 1h or 30m, after which the cap falls back. Empty: for good."
      />
    </Action>
  );
}

export function RemoveBudget({ budget }: { budget: BudgetView }) {
  return (
    <Action
      name="Remove"
      of={budget.id}
      isDangerous
      run={() =>
        ask('DELETE /v1/gw/budgets/{project}/{period}', {
          project: budget.project_id,
          period: budget.period,
          ...scopeToQuery(budget),
        })
      }
    >
      <p>Nothing caps what it counts any more. What was spent stays on record.</p>
    </Action>
  );
}
