import type { RequestId } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import type { Origin } from '../../origin.ts';
import type { Names } from '../database/names.ts';
import type { Db } from '../database/open.ts';
import type { Charge } from './account.ts';

/** The part of a request record that is known before the request is sent. */
export interface RequestHead {
  id: RequestId;
  projectId: number;
  keyId: number;
  endpoint: string;
  provider: string;
  model: string;
  askedModel: string;
  stream: boolean;
  /** Undefined: not known. */
  origin?: Origin;
}

/** The repository of a request; '' where it isn't known. */
export const repoOf = ({ origin }: Pick<RequestHead, 'origin'>): string => origin?.repo ?? '';

/** What a running request holds, and in which balances. */
export interface Hold {
  amount: NanoUsd;
  charges: Charge[];
}

/** An open hold with the request that it is for. */
export interface OpenHold extends RequestHead, Hold {}

/** The rows of running requests: inserted before anything is sent, removed when the record is written. */
export interface Holds {
  insert(slot: number, head: RequestHead, hold: Hold): void;
  /** Removes the hold and returns it; undefined if it was removed before. */
  take(id: RequestId): Hold | undefined;
  /** The open holds of a daemon. */
  ofSlot(slot: number): OpenHold[];
  /** Drops what is cached: another writer has committed, or the batch has failed. */
  forget(): void;
}

interface Row extends Omit<OpenHold, 'stream' | 'charges' | 'origin'> {
  stream: number;
  charges: string;
  process: string;
  repo: string;
}

export function createHolds(db: Db, names: Names): Holds {
  const insert = db.prepare(
    `INSERT INTO holds (id, slot, project_id, key_id, endpoint_id, provider_id, model_id, asked_model_id, stream,
     amount_nano_usd, charges, process_id, repo_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const select = db.prepare<[number], { amount: number; charges: string }>(
    'SELECT amount_nano_usd AS amount, charges FROM holds WHERE id = ?',
  );
  const remove = db.prepare<[number]>('DELETE FROM holds WHERE id = ?');
  const selectSlot = db.prepare<[number], Row>(
    `SELECT h.id, h.project_id AS projectId, h.key_id AS keyId, e.name AS endpoint, p.name AS provider, m.name AS model,
     a.name AS askedModel, h.stream, h.amount_nano_usd AS amount, h.charges, c.name AS process, r.name AS repo
     FROM holds h
     JOIN names e ON e.id = h.endpoint_id JOIN names p ON p.id = h.provider_id
     JOIN names m ON m.id = h.model_id JOIN names a ON a.id = h.asked_model_id
     JOIN names c ON c.id = h.process_id JOIN names r ON r.id = h.repo_id WHERE h.slot = ? ORDER BY h.id`,
  );
  /** The rows that this daemon has inserted. */
  const cache = new Map<RequestId, Hold>();

  function find(id: RequestId): Hold | undefined {
    const hold = cache.get(id);
    if (hold) return hold;
    const row = select.get(id);
    return row && { amount: row.amount, charges: JSON.parse(row.charges) };
  }

  return {
    insert(slot, head, hold) {
      insert.run(
        head.id,
        slot,
        head.projectId,
        head.keyId,
        names.idOf(head.endpoint),
        names.idOf(head.provider),
        names.idOf(head.model),
        names.idOf(head.askedModel),
        head.stream ? 1 : 0,
        hold.amount,
        hold.charges.length === 0 ? '[]' : JSON.stringify(hold.charges),
        head.origin ? names.idOf(head.origin.process) : 0,
        head.origin ? names.idOf(head.origin.repo) : 0,
      );
      cache.set(head.id, hold);
    },
    take(id) {
      const hold = find(id);
      if (hold) remove.run(id);
      cache.delete(id);
      return hold;
    },
    ofSlot: (slot) =>
      selectSlot.all(slot).map(({ process, repo, ...row }) => ({
        ...row,
        stream: row.stream === 1,
        charges: JSON.parse(row.charges),
        origin: { process, repo },
      })),
    forget: () => cache.clear(),
  };
}
