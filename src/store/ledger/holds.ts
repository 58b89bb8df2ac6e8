import type { RequestId } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import type { Origin } from '../../origin.ts';
import type { Names } from '../database/names.ts';
import type { Db } from '../database/open.ts';
import type { Charge } from './balances.ts';

/** Who asks, for what: the part of a request record that is known before it is sent. */
export interface RequestHead {
  id: RequestId;
  projectId: number;
  keyId: number;
  endpoint: string;
  provider: string;
  model: string;
  askedModel: string;
  stream: boolean;
  /** Absent: not known. */
  origin?: Origin;
}

/** An open hold as it is stored. */
export interface OpenHold extends RequestHead {
  amount: NanoUsd;
  charges: Charge[];
}

/** The rows of requests that are running. A row appears before anything is sent and goes when its record is written. */
export interface Holds {
  insert(slot: number, head: RequestHead, amount: NanoUsd, charges: Charge[]): void;
  /** Removes the hold and returns it; undefined if it was resolved before. */
  take(id: RequestId): HeldAmount | undefined;
  ofSlot(slot: number): OpenHold[];
  /** Forgets what is remembered of rows: somebody else has written since, or the batch has failed. */
  forget(): void;
}

export type HeldAmount = Pick<OpenHold, 'amount' | 'charges'>;

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
  const ofSlot = db.prepare<[number], Row>(
    `SELECT h.id, h.project_id AS projectId, h.key_id AS keyId, e.name AS endpoint, p.name AS provider, m.name AS model,
     a.name AS askedModel, h.stream, h.amount_nano_usd AS amount, h.charges, c.name AS process, r.name AS repo
     FROM holds h
     JOIN names e ON e.id = h.endpoint_id JOIN names p ON p.id = h.provider_id
     JOIN names m ON m.id = h.model_id JOIN names a ON a.id = h.asked_model_id
     JOIN names c ON c.id = h.process_id JOIN names r ON r.id = h.repo_id WHERE h.slot = ? ORDER BY h.id`,
  );
  /** The rows that this daemon wrote, as long as nobody else can have changed them. */
  const known = new Map<RequestId, HeldAmount>();

  function find(id: RequestId): HeldAmount | undefined {
    const remembered = known.get(id);
    if (remembered) return remembered;
    const row = select.get(id);
    return row && { amount: row.amount, charges: JSON.parse(row.charges) };
  }

  return {
    insert(slot, head, amount, charges) {
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
        amount,
        charges.length === 0 ? '[]' : JSON.stringify(charges),
        head.origin ? names.idOf(head.origin.process) : 0,
        head.origin ? names.idOf(head.origin.repo) : 0,
      );
      known.set(head.id, { amount, charges });
    },
    take(id) {
      const held = find(id);
      if (held) remove.run(id);
      known.delete(id);
      return held;
    },
    ofSlot: (slot) =>
      ofSlot.all(slot).map(({ process, repo, ...row }) => ({
        ...row,
        stream: row.stream === 1,
        charges: JSON.parse(row.charges),
        origin: { process, repo },
      })),
    forget: () => known.clear(),
  };
}
