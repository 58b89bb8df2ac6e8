import type { Calendar } from '../calendar.ts';
import type { Settings } from '../config/settings.ts';
import { mustBeOwn, type ProjectAccess } from '../own-project.ts';
import type { Catalog } from '../pricing/catalog.ts';
import type { Registry } from '../providers/registry.ts';
import { findProject } from '../store/accounts/projects.ts';
import type { Db } from '../store/database/open.ts';
import type { Standing } from '../store/ledger/standing.ts';
import type { AskTeamUsage } from '../store/team/usage.ts';
import type { WebhookService } from '../webhooks/service.ts';
import type { Polls } from './reader.ts';

/** The records that a reader shows: those of one project, or all. */
export interface Scope extends ProjectAccess {
  projectId: number;
  /** The key that asks, through the HTTP API. */
  keyId?: number;
}

/** The data and services of this machine that operations use. */
export interface Sources {
  db: Db;
  /**
   * Opens a separate connection for polling: SQLite reports only other connections' writes. With a project id, the
   * connection sees only that project's rows.
   */
  pollDb: (projectId?: number) => Promise<Db>;
  scope: Scope;
  calendar: Calendar;
  now: () => number;
  settings: () => Settings;
  /** gw's state directory. */
  home: string;
  /** The folder of kept bodies. */
  bodies: string;
  /** The folder of answers that are kept for replays. */
  replays: string;
  /** gw's providers; if it isn't running, those that it would start with. */
  registry: () => Registry | Promise<Registry>;
  catalog: () => Promise<Catalog>;
  standings: (projectIds: number[]) => Promise<Standing[]>;
  /** `changing`, also for sending: excludes gw's own address, on the port of the daemon if one runs. */
  webhooks: (how: 'reading' | 'changing') => Promise<WebhookService>;
  /** Asks the team's database. Throws GwError. */
  teamUsage: AskTeamUsage;
  /** Undefined outside of the daemon. */
  polls?: Polls;
  /** Runs a change in its turn, and applies it in this process. */
  change: <T>(work: () => Promise<T>) => Promise<T>;
}

/**
 * The id of the project to read; undefined stands for all. Without a name, that is what the scope covers. Throws GwError
 * 403 for a project outside of the scope, existing or not, and 404 for an unknown one.
 */
export function projectToRead(db: Db, scope: Scope, name: string | undefined): number | undefined {
  if (name === undefined) return scope.admin ? undefined : scope.projectId;
  mustBeOwn(scope, name, 'project_id');
  return findProject(db, name);
}
