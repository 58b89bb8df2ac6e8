import type { BudgetView } from '../../operations/schemas/budgets.ts';
import type { ProjectView } from '../../operations/schemas/projects.ts';
import { capText, forecastText, grantedText } from '../../terminal/budget-words.ts';
import { usdText } from '../../terminal/numbers.ts';
import { Action } from '../parts/action.tsx';
import { Forecast, Gauge, Spent, toneOf } from '../parts/gauge.tsx';
import { Empty, Figures, Loaded, Section } from '../parts/layout.tsx';
import { type Column, changes, Table } from '../parts/table.tsx';
import { type Address, hrefOf } from '../state/address.ts';
import { ask } from '../state/ask.ts';
import { useGateway } from '../state/gateway.ts';
import { useReading } from '../state/use-reading.ts';
import { Asks } from './asks.tsx';
import { NewBudget, RaiseBudget, RemoveBudget, SetBudget } from './budget-actions.tsx';
import { BurnDown } from './burn-down.tsx';

const ALL = {};

export function Budgets({ address }: { address: Address }) {
  const known = useReading('GET /v1/gw/budgets', ALL, { isLive: true });
  const { id } = address;
  return (
    <Loaded known={known}>
      {(budgets) => (id === undefined ? <List budgets={budgets} /> : <Detail id={id} budgets={budgets} />)}
    </Loaded>
  );
}

function List({ budgets }: { budgets: readonly BudgetView[] }) {
  const { isAdmin } = useGateway();
  const asks = useReading('GET /v1/gw/asks', ALL, { isLive: true });
  const projects = useReading('GET /v1/gw/projects', undefined);
  const columns: Column<BudgetView>[] = [
    { head: 'budget', cell: ({ id }) => <a href={hrefOf('budgets', {}, id)}>{id}</a> },
    { head: 'spent and held', cell: (budget) => <Spent budget={budget} /> },
    { head: 'held', cell: ({ held_usd }) => usdText(held_usd), isNumber: true, isExtra: true },
    { head: 'left', cell: ({ left_usd }) => usdText(left_usd), isNumber: true, isExtra: true },
    { head: 'forecast', cell: (budget) => <Forecast budget={budget} /> },
    ...changes(isAdmin, (row: BudgetView) => (row.team ? 'by the team' : <Changes budget={row} />)),
  ];
  return (
    <>
      <Asks asks={asks.data ?? []} />
      <Section title="Caps" aside={isAdmin ? <NewBudget projects={projects.data ?? []} /> : null}>
        {budgets.length === 0 ? (
          <Empty command="gw budget set 20 --period daily">No budget yet: nothing stops spending.</Empty>
        ) : (
          <Table caption="Budgets" columns={columns} rows={budgets} keyOf={({ id }) => id} />
        )}
      </Section>
      <Section title="Projects">
        <Loaded known={projects}>{(all) => <Projects projects={all} />}</Loaded>
      </Section>
    </>
  );
}

function Changes({ budget }: { budget: BudgetView }) {
  return (
    <span className="buttons">
      <RaiseBudget budget={budget} />
      <SetBudget budget={budget} />
      <RemoveBudget budget={budget} />
    </span>
  );
}

function Projects({ projects }: { projects: readonly ProjectView[] }) {
  const { isAdmin } = useGateway();
  const columns: Column<ProjectView>[] = [
    { head: 'project', cell: ({ project_id }) => project_id },
    { head: 'plan', cell: ({ plan }) => plan },
    {
      head: 'requests',
      cell: ({ paused_at }) =>
        paused_at === null ? 'let through' : <span className="warn">paused: refused</span>,
    },
    ...changes(isAdmin, (project: ProjectView) => <Pause project={project} />),
  ];
  return (
    <Table caption="Projects" columns={columns} rows={projects} keyOf={({ project_id }) => project_id} />
  );
}

/** Whether several projects share it: there is no list of the requests of some. */
const isShared = ({ project_id }: BudgetView): boolean => /[,@]/.test(project_id);

function Pause({ project: { project_id: project, paused_at } }: { project: ProjectView }) {
  const paused = paused_at === null;
  return (
    <Action
      name={paused ? 'Pause' : 'Resume'}
      of={project}
      isDangerous={paused}
      run={() => ask('PATCH /v1/gw/projects/{project}', { project, paused })}
    >
      <p>
        {paused
          ? 'New requests of the project are refused until it is resumed. Running ones go on.'
          : 'Requests of the project are let through again.'}
      </p>
    </Action>
  );
}

function whenFull({ on_limit, fallback, fallback_percent: from }: BudgetView): string {
  if (fallback === null) return on_limit === 'ask' ? 'asks' : 'refuses';
  return `${from < 100 ? `from ${from}% ` : ''}to ${fallback.join(', ')}`;
}

function Detail({ id, budgets }: { id: string; budgets: readonly BudgetView[] }) {
  const { times, now, isAdmin } = useGateway();
  const budget = budgets.find((each) => each.id === id);
  if (!budget) return <Empty command="gw budget list">There is no budget {id}.</Empty>;
  const figures = [
    { label: 'spent', value: usdText(budget.spent_usd), note: `of ${capText(budget)}` },
    { label: 'held', value: usdText(budget.held_usd), note: 'by running requests' },
    {
      label: 'left',
      value: usdText(budget.left_usd),
      note: grantedText(budget).replace(/^, /, '') || undefined,
    },
    { label: 'alerts at', value: budget.alert_percents.map((percent) => `${percent}%`).join(', ') },
    { label: 'when full', value: whenFull(budget) },
  ];
  return (
    <>
      <p className="pages">
        <a href={hrefOf('budgets')}>All budgets</a>
        <a href={hrefOf('requests', isShared(budget) ? {} : { project_id: budget.project_id })}>
          Requests of {budget.project_id}
        </a>
      </p>
      <Figures figures={figures} />
      <Section title={id} aside={isAdmin && !budget.team ? <Changes budget={budget} /> : null}>
        <p className={toneOf(budget)}>{forecastText(budget, times, now)}</p>
        <Gauge budget={budget} />
      </Section>
      <BurnDown budget={budget} />
    </>
  );
}
