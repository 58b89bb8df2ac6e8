import type { TeamAdmin, TeamConfig, TeamKeys, TeamMember, TeamStatus, TeamWebhook } from '../authority.ts';
import { callsOf } from './authority.ts';
import { createConnection, parseTeamUrl } from './connect.ts';

/** Admin operations over PostgreSQL. Throws GwError 400 for a bad URL. */
export function createPostgresAdmin(url: string): TeamAdmin {
  const connection = createConnection(parseTeamUrl(url));
  const call = callsOf(connection);
  const budgets = () => call<TeamConfig>('team_budgets');
  return {
    status: () => call<TeamStatus>('team_status'),
    budgets,
    async setBudget({ project, period, capNanoUsd, alertPercents, offlineNanoUsd }) {
      const setsOffline = offlineNanoUsd !== undefined;
      const id = await call<number>(
        'set_budget',
        project,
        period,
        capNanoUsd,
        alertPercents ?? null,
        setsOffline,
        offlineNanoUsd ?? null,
      );
      const standing = (await budgets()).budgets.find((budget) => budget.id === id);
      if (!standing) throw new Error(`team budget ${id} was removed meanwhile`);
      return standing;
    },
    removeBudget: ({ project, period }) => call<boolean>('remove_budget', project, period),
    members: () => call<TeamMember[]>('members'),
    forget: (gateway, { release = false } = {}) => call<number>('forget', gateway, release),
    recover: ({ freeze = false } = {}) => call<void>('recover', freeze),
    createKey: ({ hash, hint, label, project, expiresAt, models, rpm }) =>
      call<number>('create_key', hash, hint, label, project, expiresAt, models, rpm),
    keys: async () => (await call<TeamKeys>('team_keys', 0)).keys,
    revokeKey: (id) => call<boolean>('revoke_key', id),
    addWebhook: ({ url: to, secret, format, events }) =>
      call<number>('add_webhook', to, secret, format, events),
    webhooks: () => call<TeamWebhook[]>('list_webhooks'),
    removeWebhook: (id) => call<boolean>('remove_webhook', id),
    close: () => connection.close(),
  };
}
