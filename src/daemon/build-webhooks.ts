import { createOutbox } from '../store/webhooks/outbox.ts';
import { addressPolicy } from '../webhooks/address-check.ts';
import { createDispatcher, type Dispatcher } from '../webhooks/dispatcher.ts';
import { createSend, type Send } from '../webhooks/send.ts';
import { createWebhookService, type WebhookService } from '../webhooks/service.ts';
import type { Core } from './open-core.ts';

export interface BuildWebhooksOptions extends Core {
  /** Where gw listens; read anew for each delivery. */
  address: Readonly<{ host: string; port: number }>;
}

/** Makes the dispatcher, which delivers events, and the service behind the webhook endpoints. */
export function buildWebhooks(options: BuildWebhooksOptions): {
  dispatcher: Dispatcher;
  service: WebhookService;
  send: Send;
} {
  const { db, ledger, clock, random, calendar, configuration, warn } = options;
  const { write } = ledger;
  const policy = () => {
    const allowedHosts = configuration.current().settings['server.allowed_hosts'].names;
    return addressPolicy({ ...options.address, allowedHosts });
  };
  const send = createSend({ policy, network: () => configuration.current().network, clock });
  const outbox = createOutbox(db, write);
  const dispatcher = createDispatcher({ outbox, send, clock, random, calendar, warn });
  const { wake } = dispatcher;
  const service = createWebhookService({ db, write, clock, calendar, send, policy, random, wake });
  return { dispatcher, service, send };
}
