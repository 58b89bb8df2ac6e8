import type { AskRemote } from '../../remote/client.ts';
import type { DeliveryQuery, WebhookService } from '../../webhooks/service.ts';

/** The webhook operations of a remote gw. Callers are known to it by their key. */
export function remoteWebhookService(ask: AskRemote): WebhookService {
  // The server's answers are the views, which its own tests hold.
  const send = async <T>(request: Parameters<AskRemote>[0]) => (await ask(request)) as T;
  const list = async <T>(request: Parameters<AskRemote>[0]) => (await send<{ data: T[] }>(request)).data;
  const path = (id: string) => `/v1/webhooks/${encodeURIComponent(id)}`;
  return {
    register: (_caller, body) => send({ method: 'POST', path: '/v1/webhooks', body }),
    list: (_caller, project_id) => list({ path: '/v1/webhooks', query: { project_id } }),
    get: (_caller, id) => send({ path: path(id) }),
    update: (_caller, id, body) => send({ method: 'PATCH', path: path(id), body }),
    remove: async (_caller, id) => void (await send({ method: 'DELETE', path: path(id) })),
    rotate: (_caller, id) => send({ method: 'POST', path: `${path(id)}/rotate` }),
    test: (_caller, id) => send({ method: 'POST', path: `${path(id)}/test` }),
    deliveries: (_caller, query = {}) =>
      list({
        path: query.webhook === undefined ? '/v1/deliveries' : `${path(query.webhook)}/deliveries`,
        query: parametersOf(query),
      }),
    replay: (_caller, id) =>
      send({ method: 'POST', path: `/v1/deliveries/${encodeURIComponent(id)}/replay` }),
    replayFailed: async (_caller, query = {}) => {
      const path = '/v1/gw/deliveries/replay-failed';
      return (await send<{ replayed: number }>({ method: 'POST', path, query: parametersOf(query) }))
        .replayed;
    },
  };
}

function parametersOf({ project, status, since, limit }: DeliveryQuery) {
  return {
    project_id: project,
    status,
    since: since === undefined ? undefined : new Date(since).toISOString(),
    limit,
  };
}
