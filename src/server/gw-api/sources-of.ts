import type { Gateway } from '../../gateway/context/gateway.ts';
import type { Random } from '../../ids.ts';
import type { Polls } from '../../operations/reader.ts';
import { allStandings } from '../../operations/run/standings.ts';
import type { Sources } from '../../operations/sources.ts';
import type { Registry } from '../../providers/registry.ts';
import type { Caller } from '../../store/accounts/callers.ts';
import type { Db } from '../../store/database/open.ts';
import type { AskTeamUsage } from '../../store/team/usage.ts';
import type { WebhookService } from '../../webhooks/service.ts';

export interface SourceOptions {
  gateway: Pick<Gateway, 'clock' | 'calendar' | 'settings' | 'catalog' | 'keptBodies' | 'ledger'>;
  db: Db;
  /** A connection of its own for what is polled. */
  pollDb: (projectId?: number) => Promise<Db>;
  webhooks: WebhookService;
  registry: () => Registry;
  /** Asks the team's database. */
  teamUsage: AskTeamUsage;
  random: Random;
  /** gw's state directory. */
  home: string;
  /** Applies a change in this process. */
  reload: () => Promise<void>;
}

/** What a key may read and change in the running daemon. */
export function createSources(options: SourceOptions) {
  const { gateway, db, pollDb, webhooks, registry, reload } = options;
  const { ledger, settings } = gateway;
  const now = () => gateway.clock.now();

  /** Waits until the ledger may write: a change is a transaction of its own, which a checkpoint must not meet. */
  async function change<T>(work: () => Promise<T>): Promise<T> {
    await ledger.write(() => {});
    const result = await work();
    await reload();
    return result;
  }

  const polls: Polls = { tails: new Map(), feeds: new Map(), random: options.random };
  return (caller: Caller): Sources => ({
    db,
    scope: caller,
    calendar: gateway.calendar(),
    now,
    home: options.home,
    bodies: gateway.keptBodies.folder,
    webhooks: async () => webhooks,
    change,
    polls,
    pollDb,
    settings,
    teamUsage: options.teamUsage,
    registry,
    catalog: async () => gateway.catalog(),
    standings: (projectIds) => allStandings(ledger, projectIds),
  });
}
