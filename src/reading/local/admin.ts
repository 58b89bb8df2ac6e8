import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Calendar } from '../../calendar.ts';
import { createKey, revokeKey, rotateKey } from '../../store/accounts/keys.ts';
import { removePrice, setPrice } from '../../store/accounts/prices.ts';
import {
  createProject,
  findProject,
  getProject,
  removeProject,
  setAllPaused,
  setPaused,
  setPlan,
} from '../../store/accounts/projects.ts';
import { deleteRecords } from '../../store/archive/delete-records.ts';
import { approveAsk, denyAsk } from '../../store/budgets/asks.ts';
import { budgetResponse } from '../../store/budgets/budget-response.ts';
import { removeBudget, setBudget } from '../../store/budgets/budgets.ts';
import { raiseBudget } from '../../store/budgets/raise-budget.ts';
import type { Db } from '../../store/database/open.ts';
import { isoTime } from '../../store/ledger/standing.ts';
import { removeUnrecorded } from '../../store/requests/kept-bodies.ts';
import type { WebhookService } from '../../webhooks/service.ts';
import type { Admin } from '../admin.ts';
import { viewAsk } from '../ask-view.ts';
import type { BudgetView } from '../schemas.ts';
import type { Scope } from './scope.ts';

/** What a local admin works with besides the database. */
export interface AdminSources {
  db: Db;
  scope: Scope;
  calendar: Calendar;
  now: () => number;
  /** Runs a change in its turn, and applies it in this process. */
  change: <T>(work: () => Promise<T>) => Promise<T>;
  /** gw's state directory. */
  home: string;
  /** The folder of kept bodies. */
  bodies: string;
  webhooks: () => Promise<WebhookService>;
}

function budgetChanges({
  db,
  calendar,
  now,
  change,
}: AdminSources): Pick<Admin, 'setBudget' | 'raiseBudget' | 'approveAsk' | 'denyAsk' | 'removeBudget'> {
  return {
    setBudget: ({
      project,
      period,
      capNanoUsd,
      alertPercent,
      alertPercents,
      windowMs,
      onLimit,
      repo,
      scope,
    }) =>
      change(async () => {
        const terms = {
          period,
          capNanoUsd,
          alertPercents,
          scope,
          ...(alertPercent === undefined ? {} : { alertPercent }),
          ...(windowMs === undefined ? {} : { windowMs }),
          ...(onLimit === undefined ? {} : { onLimit }),
          ...(repo === undefined ? {} : { repo }),
        };
        const context = { calendar, now: now() };
        const standing = await setBudget(db, await getProject(db, project), terms, context);
        // The schema's test validates the fields.
        return budgetResponse(standing, context.now, { nano: true }) as BudgetView;
      }),
    raiseBudget: (raise) =>
      change(async () => {
        const context = { calendar, now: now() };
        const standing = await raiseBudget(db, raise, context);
        return budgetResponse(standing, context.now, { nano: true }) as BudgetView;
      }),
    approveAsk: (approval) =>
      change(async () => viewAsk(await approveAsk(db, approval, { calendar, now: now() }))),
    denyAsk: (id) => change(async () => viewAsk(await denyAsk(db, id, now()))),
    removeBudget: ({ project, period, repo = '', scope }) =>
      change(async () => removeBudget(db, await getProject(db, project), { period, repo, scope }, now())),
  };
}

/** Changes the local database. */
export function createLocalAdmin(sources: AdminSources): Admin {
  const { db, scope: caller, now, change, webhooks } = sources;
  const pauseTimes = (paused: boolean, cut: boolean) =>
    [paused ? now() : null, paused && cut ? now() : null] as const;
  return {
    ...budgetChanges(sources),
    createKey: ({ project, admin, ...rest }) =>
      change(async () => {
        const projectId = findProject(db, project);
        const { id, key } = await createKey(db, { ...rest, projectId, admin, now: now() });
        return { id, key, project_id: project, admin, expires_at: isoTime(rest.expiresAt ?? Infinity) };
      }),
    rotateKey: (rotation) =>
      change(async () => {
        const time = now();
        const { key, row } = await rotateKey(db, { ...rotation, now: time });
        return {
          id: row.id,
          key,
          project_id: row.project,
          admin: row.admin,
          expires_at: isoTime(row.expiresAt ?? Infinity),
          previous_key_expires_at: new Date(time + rotation.overlapMs).toISOString(),
        };
      }),
    revokeKey: (id) => change(() => revokeKey(db, id, now())),
    addProject: (name, plan) =>
      change(async () => void (await createProject(db, { name, plan, now: now() }))),
    changeProject: (name, { plan, paused, cut = false }) =>
      change(async () => {
        if (plan !== undefined) await setPlan(db, name, plan);
        if (paused !== undefined) await setPaused(db, name, ...pauseTimes(paused, cut));
      }),
    pauseAll: ({ paused, cut = false }) => change(() => setAllPaused(db, ...pauseTimes(paused, cut))),
    removeProject: (name) =>
      change(async () => {
        await removeProject(db, name, now());
        removeTraining(sources.home, name);
      }),
    async deleteRecords({ project, session }) {
      const records = { projectId: findProject(db, project), session, before: now() + 1 };
      let deleted = 0;
      for (;;) {
        const count = await change(async () => deleteRecords(db, records));
        if (count === 0) break;
        deleted += count;
      }
      await removeUnrecorded(sources.bodies, db);
      if (session === undefined) removeTraining(sources.home, project);
      return deleted;
    },
    setPrice: (price) => change(() => setPrice(db, price, now())),
    removePrice: (provider, model) => change(() => removePrice(db, provider, model)),
    webhooks: {
      register: async (input) => (await webhooks()).register(caller, input),
      get: async (id) => (await webhooks()).get(caller, id),
      update: async (id, input) => (await webhooks()).update(caller, id, input),
      remove: async (id) => (await webhooks()).remove(caller, id),
      rotate: async (id) => (await webhooks()).rotate(caller, id),
      test: async (id) => (await webhooks()).test(caller, id),
      replay: async (id) => (await webhooks()).replay(caller, id),
      replayFailed: async (query) => (await webhooks()).replayFailed(caller, query),
    },
  };
}

/** Deletes what gw 0.2.0 and before learnt from a project's prompts. Nothing reads it, but it is the project's data. */
function removeTraining(home: string, project: string): void {
  rmSync(join(home, `route-${project}.bin`), { force: true });
}
