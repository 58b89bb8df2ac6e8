import { formatUsd } from '../../money.ts';
import type { TeamView } from '../../operations/schemas/team.ts';
import type { TeamUsageView } from '../../operations/schemas/usage.ts';
import { count, usdText } from '../../terminal/numbers.ts';
import { Choice } from '../parts/choice.tsx';
import { Forecast, Spent } from '../parts/gauge.tsx';
import { Empty, Facts, Loaded, Section } from '../parts/layout.tsx';
import { type Column, Table } from '../parts/table.tsx';
import type { Address } from '../state/address.ts';
import { useGateway } from '../state/gateway.ts';
import { useReading } from '../state/use-reading.ts';

const BYS = ['member', 'gateway', 'project', 'model'] as const;
type By = (typeof BYS)[number];

export function Team({ address }: { address: Address }) {
  const known = useReading('GET /v1/gw/team', undefined, { isLive: true });
  const by = BYS.find((each) => each === address.parameters.by) ?? 'member';
  return (
    <Loaded known={known}>
      {(team) =>
        team.name === null ? (
          <Empty command="gw team join URL">
            This gateway belongs to no team, whose gateways share budgets. To join one:
          </Empty>
        ) : (
          <Joined team={team} by={by} />
        )
      }
    </Loaded>
  );
}

function Joined({ team, by }: { team: TeamView; by: By }) {
  const { times, now, isAdmin } = useGateway();
  const { name, gateway, synced_at: synced, unreachable_since: since, failure } = team;
  const columns: Column<TeamView['budgets'][number]>[] = [
    { head: 'budget', cell: ({ id }) => id },
    { head: "the team's spend", cell: (budget) => <Spent budget={budget} /> },
    { head: 'spent here', cell: ({ spent_here_usd: usd }) => usdText(usd), isNumber: true, isExtra: true },
    { head: 'room here', cell: ({ room_usd: usd }) => usdText(usd), isNumber: true, isExtra: true },
    { head: 'gateways', cell: ({ gateways }) => count(gateways), isNumber: true, isExtra: true },
    { head: 'forecast', cell: (budget) => <Forecast budget={budget} /> },
  ];
  return (
    <>
      <Section title={`Team ${name}`}>
        <Facts
          facts={[
            ['this gateway', gateway],
            ['last sync', synced === null ? 'none yet' : times.moment(Date.parse(synced), now)],
            ...(since === null
              ? []
              : [
                  [
                    'no answer since',
                    <span key="since" className="bad">
                      {times.moment(Date.parse(since), now)}
                      {failure && `: ${failure}`}
                    </span>,
                  ] as const,
                ]),
          ]}
        />
      </Section>
      <Section title="Budgets of the team">
        {team.budgets.length === 0 ? (
          <Empty command="gw team budgets set NAME AMOUNT">The team has no budget yet.</Empty>
        ) : (
          <Table caption="Budgets of the team" columns={columns} rows={team.budgets} keyOf={({ id }) => id} />
        )}
      </Section>
      {isAdmin ? <TeamSpend by={by} /> : null}
    </>
  );
}

function TeamSpend({ by }: { by: By }) {
  const known = useReading('GET /v1/gw/team/usage', { group_by: by });
  type Row = TeamUsageView['data'][number];
  const nameOf = (row: Row) => (by === 'project' ? row.project_id : row[by]) ?? 'unknown';
  const columns: Column<Row>[] = [
    { head: by, cell: nameOf },
    { head: 'requests', cell: ({ requests }) => count(requests), isNumber: true },
    { head: 'cost', cell: ({ cost_nano_usd: cost }) => formatUsd(cost), isNumber: true },
  ];
  return (
    <Section title="Spend of the last 30 days" aside={<Choice name="by" choices={BYS} value={by} />}>
      <Loaded known={known}>
        {({ data }) => <Table caption="Spend of the team" columns={columns} rows={data} keyOf={nameOf} />}
      </Loaded>
    </Section>
  );
}
