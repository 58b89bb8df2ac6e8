import { GwError } from '../../errors.ts';
import {
  TEAM_FIGURES,
  type TeamUsage,
  type TeamUsageQuery,
  type TeamUsageRow,
  type TeamUsageSum,
} from '../../store/team/usage.ts';
import type {
  ClaimedEvents,
  GatewayIdentity,
  PushAnswer,
  TeamAuthority,
  TeamConfig,
  TeamKeys,
} from '../authority.ts';
import type { SyncAnswer, SyncRefusal } from '../protocol.ts';
import { createConnection, parseTeamUrl, type TeamConnection } from './connect.ts';
import { lacksRight } from './failures.ts';

/** Calls a function in the team's schema and returns its value. */
export type Call = <T>(name: string, ...values: readonly unknown[]) => Promise<T>;

export function callsOf({ place, query }: TeamConnection): Call {
  return async <T>(name: string, ...values: readonly unknown[]) => {
    const parameters = values.map((_, i) => `$${i + 1}`).join(', ');
    const rows = await query<{ value: T }>(`SELECT ${place.schema}.${name}(${parameters}) AS value`, values);
    return (rows[0] as { value: T }).value;
  };
}

/** The authority in PostgreSQL. Connects on the first call. Throws GwError 400 for a bad URL. */
export function createPostgresAuthority(url: string): TeamAuthority {
  const connection = createConnection(parseTeamUrl(url));
  const call = callsOf(connection);
  const asGateway = <T>(name: string, { gateway, token }: GatewayIdentity, ...values: unknown[]) =>
    call<T>(name, gateway, token, ...values);
  return {
    join: ({ name, token, nonce }) => call<number>('join_team', name, token, nonce),
    hello: (identity, { old, next }) => asGateway('hello', identity, old, next),
    leave: (identity, nonce) => asGateway('leave', identity, nonce),
    sync: (token, { gateway, nonce, seq, rows }) =>
      call<SyncAnswer | SyncRefusal>('sync', gateway, token, nonce, seq, JSON.stringify(rows)),
    pushUsage: (identity, nonce, { seq, buckets, rows }) =>
      asGateway<PushAnswer>(
        ...(['push_usage', identity, nonce, seq] as const),
        buckets.map(({ bucket }) => bucket),
        JSON.stringify(rows.map(usageRow)),
      ),
    budgets: () => call<TeamConfig>('team_budgets'),
    keys: (sinceVersion) => call<TeamKeys>('team_keys', sinceVersion),
    claimEvents: (identity, { leaseMs, claimMs }) =>
      asGateway<ClaimedEvents>('claim_events', identity, leaseMs, claimMs),
    async mayDeliver() {
      const { place, query } = connection;
      const [row] = await query<{ may: boolean }>(
        `SELECT has_function_privilege('${place.schema}.claim_events(int, text, int, int)', 'EXECUTE') AS may`,
      );
      if (!row?.may) throw lacksRight(place, 'courier', "it may not deliver the team's events");
    },
    finishDelivery: (identity, { delivery, claim }, ended) =>
      asGateway<boolean>(
        'finish_delivery',
        identity,
        delivery,
        claim,
        ended.outcome,
        'reason' in ended ? ended.reason : null,
        'afterMs' in ended ? ended.afterMs : 0,
      ),
    usage: (query) => readUsage(connection, query),
    close: () => connection.close(),
  };
}

/** Columns with other names in PostgreSQL. */
const COLUMNS: Record<string, string> = { key: 'key_label', cost_nano_usd: 'cost', saved_nano_usd: 'saved' };

function usageRow(row: TeamUsageRow) {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [COLUMNS[name] ?? name, value]));
}

/** Groupings that say who spent: a member sees those of its own gateways alone. */
const BY_MEMBER: ReadonlySet<TeamUsageQuery['groupBy']> = new Set(['member', 'gateway', 'key']);

async function readUsage(connection: TeamConnection, query: TeamUsageQuery): Promise<TeamUsage> {
  const isForAll = !BY_MEMBER.has(query.groupBy);
  try {
    return { scope: 'team', sums: await sumsOf(connection, isForAll ? 'team_usage' : 'all_usage', query) };
  } catch (error) {
    if (isForAll || !(error instanceof GwError && error.code === 'team_forbidden')) throw error;
    return { scope: 'own', sums: await sumsOf(connection, 'my_usage', query) };
  }
}

async function sumsOf(
  { place, query }: TeamConnection,
  name: 'team_usage' | 'my_usage' | 'all_usage',
  { groupBy, from, to }: TeamUsageQuery,
): Promise<TeamUsageSum[]> {
  type Row = { key: string; member: string | null } & Record<string, number>;
  const rows = await query<Row>(`SELECT * FROM ${place.schema}.${name}($1, $2, $3)`, [groupBy, from, to]);
  return rows.map(({ key, member, ...sums }) => ({
    key,
    member,
    figures: Object.fromEntries(
      TEAM_FIGURES.map((figure) => [figure, sums[COLUMNS[figure] ?? figure]]),
    ) as TeamUsageSum['figures'],
  }));
}
