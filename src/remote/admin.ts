import { usdNumber } from '../money.ts';
import type { Admin } from '../reading/admin.ts';
import type { AskView } from '../reading/ask-schema.ts';
import { scopeToJson, scopeToQuery } from '../reading/budget-scope.ts';
import { viewPrice } from '../reading/price-views.ts';
import type { BudgetView, NewKeyView, RotatedKeyView } from '../reading/schemas.ts';
import type { RegisteredView, TestView } from '../webhooks/service.ts';
import type { DeliveryView, EndpointView } from '../webhooks/views.ts';
import type { AskRemote } from './client.ts';

/** Changes another gw through its HTTP API. */
export function createRemoteAdmin(ask: AskRemote): Admin {
  const one = encodeURIComponent;
  const webhook = (id: string) => `/v1/webhooks/${one(id)}`;
  return {
    async setBudget({
      project,
      period,
      capNanoUsd,
      alertPercent,
      alertPercents,
      windowMs,
      onLimit,
      repo,
      scope,
    }) {
      const body = {
        project_id: project,
        period,
        cap_usd: usdNumber(capNanoUsd),
        alert_percent: alertPercent,
        alert_percents: alertPercents,
        window_seconds: windowMs === undefined ? undefined : windowMs / 1_000,
        on_limit: onLimit,
        repo,
        scope: scope && scopeToJson(scope),
      };
      return (await ask({ method: 'PUT', path: '/v1/gw/budgets', body })) as BudgetView;
    },
    ...remoteRaises(ask),
    async removeBudget({ project, period, repo, scope }) {
      const path = `/v1/gw/budgets/${one(project)}/${period}`;
      await ask({ method: 'DELETE', path, query: { repo, ...scopeToQuery(scope) } });
    },
    async createKey({ project, admin, label, expiresAt, models, rpm }) {
      const body = { project_id: project, admin, label, expires_at: timeOf(expiresAt), models, rpm };
      return (await ask({ method: 'POST', path: '/v1/gw/keys', body })) as NewKeyView;
    },
    async rotateKey({ id, overlapMs, expiresAt }) {
      const body = { overlap_seconds: overlapMs / 1_000, expires_at: timeOf(expiresAt) };
      return (await ask({ method: 'POST', path: `/v1/gw/keys/${id}/rotate`, body })) as RotatedKeyView;
    },
    async revokeKey(id) {
      await ask({ method: 'DELETE', path: `/v1/gw/keys/${id}` });
    },
    async addProject(name, plan) {
      await ask({ method: 'POST', path: '/v1/gw/projects', body: { project_id: name, plan } });
    },
    async changeProject(name, change) {
      await ask({ method: 'PATCH', path: `/v1/gw/projects/${one(name)}`, body: change });
    },
    async pauseAll(pause) {
      const { projects } = (await ask({ method: 'PATCH', path: '/v1/gw/projects', body: pause })) as {
        projects: string[];
      };
      return projects;
    },
    async removeProject(name) {
      await ask({ method: 'DELETE', path: `/v1/gw/projects/${one(name)}` });
    },
    async deleteRecords({ project, session }) {
      const query = { project_id: project, session_id: session };
      const { deleted } = (await ask({ method: 'DELETE', path: '/v1/gw/requests', query })) as {
        deleted: number;
      };
      return deleted;
    },
    async setPrice(price) {
      // An older gw refuses prices that it doesn't know.
      const stated = Object.entries(viewPrice(price)).filter(([, value]) => value !== null);
      await ask({ method: 'PUT', path: '/v1/gw/prices', body: Object.fromEntries(stated) });
    },
    async removePrice(provider, model) {
      const query = { provider: provider || undefined, model };
      const { deleted } = (await ask({ method: 'DELETE', path: '/v1/gw/prices', query })) as {
        deleted: boolean;
      };
      return deleted;
    },
    webhooks: {
      register: async (body) => (await ask({ method: 'POST', path: '/v1/webhooks', body })) as RegisteredView,
      get: async (id) => (await ask({ path: webhook(id) })) as EndpointView,
      update: async (id, body) => (await ask({ method: 'PATCH', path: webhook(id), body })) as EndpointView,
      async remove(id) {
        await ask({ method: 'DELETE', path: webhook(id) });
      },
      rotate: async (id) => (await ask({ method: 'POST', path: `${webhook(id)}/rotate` })) as RegisteredView,
      test: async (id) => (await ask({ method: 'POST', path: `${webhook(id)}/test` })) as TestView,
      replay: async (id) =>
        (await ask({ method: 'POST', path: `/v1/deliveries/${one(id)}/replay` })) as DeliveryView,
      async replayFailed({ project, webhook, since }) {
        const query = {
          project_id: project,
          webhook_id: webhook,
          since: since === undefined ? undefined : new Date(since).toISOString(),
        };
        const answer = await ask({ method: 'POST', path: '/v1/gw/deliveries/replay-failed', query });
        return (answer as { replayed: number }).replayed;
      },
    },
  };
}

function remoteRaises(ask: AskRemote): Pick<Admin, 'raiseBudget' | 'approveAsk' | 'denyAsk'> {
  const pathOf = (id: string) => `/v1/gw/asks/${encodeURIComponent(id)}`;
  return {
    async raiseBudget({ budget, amountNanoUsd, forMs }) {
      const body = {
        budget_id: budget,
        amount_usd: usdNumber(amountNanoUsd),
        for_seconds: forMs === undefined ? undefined : forMs / 1_000,
      };
      return (await ask({ method: 'POST', path: '/v1/gw/budgets/raise', body })) as BudgetView;
    },
    async approveAsk({ id, raiseNanoUsd }) {
      const body = raiseNanoUsd === undefined ? { once: true } : { raise_usd: usdNumber(raiseNanoUsd) };
      return (await ask({ method: 'POST', path: `${pathOf(id)}/approve`, body })) as AskView;
    },
    denyAsk: async (id) => (await ask({ method: 'POST', path: `${pathOf(id)}/deny` })) as AskView,
  };
}

const timeOf = (timeMs: number | null | undefined) => (timeMs ? new Date(timeMs).toISOString() : timeMs);
