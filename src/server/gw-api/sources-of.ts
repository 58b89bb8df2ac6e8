import type { Gateway } from '../../gateway/context/gateway.ts';
import type { Random } from '../../ids.ts';
import type { Polls } from '../../operations/reader.ts';
import type { Scope, Sources } from '../../operations/sources.ts';
import { allStandings } from '../../operations/standings.ts';
import type { Registry } from '../../providers/registry.ts';
import type { WebhookService } from '../../webhooks/service.ts';
import type { Reports } from './reports.ts';

export interface SourceOptions extends Pick<Sources, 'db' | 'pollDb' | 'teamUsage' | 'home'> {
  gateway: Pick<Gateway, 'clock' | 'calendar' | 'settings' | 'catalog' | 'keptBodies' | 'ledger' | 'replays'>;
  webhooks: WebhookService;
  reports: Reports;
  registry: () => Registry;
  random: Random;
  /** Reloads settings, keys, budgets and prices after a change by this process. */
  reload: () => Promise<void>;
}

/** Sources of operations in the running daemon, limited by a caller's rights. */
export function createSources(options: SourceOptions) {
  const { gateway, db, pollDb, webhooks, registry, reload, teamUsage, home } = options;
  const { ledger, settings } = gateway;

  /** Waits until the ledger may write: a change is a transaction of its own, which a checkpoint must not meet. */
  async function change<T>(work: () => Promise<T>): Promise<T> {
    await ledger.write(() => {});
    const result = await work();
    await reload();
    return result;
  }

  const polls: Polls = { tails: new Map(), feeds: new Map(), random: options.random };
  return (scope: Scope): Sources => ({
    db,
    scope,
    calendar: gateway.calendar(),
    now: () => gateway.clock.now(),
    home,
    bodies: gateway.keptBodies.folder,
    replays: gateway.replays.folder,
    webhooks: async () => webhooks,
    change,
    polls,
    pollDb,
    settings,
    teamUsage,
    registry,
    catalog: async () => gateway.catalog(),
    standings: (projectIds) => allStandings(ledger, projectIds),
  });
}
