import type {
  ClaimedDelivery,
  GatewayIdentity,
  TeamAuthority,
  TeamConfig,
  TeamKeys,
  UsageFigures,
  UsageHour,
  UsageRow,
} from '../authority.ts';
import type { SyncAnswer, SyncRefusal } from '../protocol.ts';
import { createConnection, parseTeamUrl, type TeamConnection } from './connect.ts';

/** Calls a function of the schema and returns its value. */
export type Call = <T>(name: string, ...values: readonly unknown[]) => Promise<T>;

export function callsOf({ place, query }: TeamConnection): Call {
  return async <T>(name: string, ...values: readonly unknown[]) => {
    const parameters = values.map((_, i) => `$${i + 1}`).join(', ');
    const rows = await query<{ value: T }>(`SELECT ${place.schema}.${name}(${parameters}) AS value`, values);
    return (rows[0] as { value: T }).value;
  };
}

/** The authority over PostgreSQL. Connects with the first call. Throws GwError 400 for a bad URL. */
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
    pushUsage: (identity, rows) =>
      asGateway<number>('push_usage', identity, JSON.stringify(rows.map(usageHourRow))),
    budgets: () => call<TeamConfig>('team_budgets'),
    keys: (sinceVersion) => call<TeamKeys>('team_keys', sinceVersion),
    claimEvent: async (identity) =>
      (await asGateway<ClaimedDelivery | null>('claim_event', identity)) ?? undefined,
    delivered: (identity, { delivery, claim }) => asGateway('delivered', identity, delivery, claim),
    failed: (identity, { delivery, claim }, reason) => asGateway('failed', identity, delivery, claim, reason),
    teamUsage: (span) => readUsage(connection, 'team_usage', span),
    myUsage: (span) => readUsage(connection, 'my_usage', span),
    close: () => connection.close(),
  };
}

/** Columns of the figures. */
const FIGURES: readonly (readonly [column: string, figure: keyof UsageFigures])[] = [
  ['requests', 'requests'],
  ['blocked_requests', 'blockedRequests'],
  ['failed_requests', 'failedRequests'],
  ['unpriced_requests', 'unpricedRequests'],
  ['input_tokens', 'inputTokens'],
  ['cached_input_tokens', 'cachedInputTokens'],
  ['cache_write_tokens', 'cacheWriteTokens'],
  ['output_tokens', 'outputTokens'],
  ['reasoning_tokens', 'reasoningTokens'],
  ['saved_tokens', 'savedTokens'],
  ['cost', 'costNanoUsd'],
  ['saved', 'savedNanoUsd'],
];

function usageHourRow({ bucket, project, provider, model, keyLabel, version, figures }: UsageHour) {
  const columns = FIGURES.map(([column, figure]) => [column, figures[figure]]);
  return { bucket, project, provider, model, key_label: keyLabel, version, ...Object.fromEntries(columns) };
}

interface UsageSum {
  day: string;
  project: string;
  provider: string;
  model: string;
  member: string | null;
  gateway: string | null;
  key_label: string | null;
  [figure: string]: string | number | null;
}

export async function readUsage(
  { place, query }: TeamConnection,
  name: 'team_usage' | 'my_usage' | 'all_usage',
  { from, to }: { from: number; to: number },
): Promise<UsageRow[]> {
  const rows = await query<UsageSum>(`SELECT * FROM ${place.schema}.${name}($1, $2)`, [from, to]);
  return rows.map(({ day, project, provider, model, member, gateway, key_label, ...sums }) => ({
    day,
    project,
    provider,
    model,
    member,
    gateway,
    keyLabel: key_label,
    figures: Object.fromEntries(FIGURES.map(([column, figure]) => [figure, sums[column]])) as Record<
      keyof UsageFigures,
      number
    >,
  }));
}
