import { badRequest, GwError, messageOf } from '../../../errors.ts';
import {
  createObjectOwners,
  hasSeveralProjects,
  type ObjectOwner,
  readObjectClaims,
} from '../../../store/accounts/objects.ts';
import type { Db } from '../../../store/database/open.ts';
import type { Ledger } from '../../../store/ledger/ledger.ts';

/** The ids in a request. */
export interface References {
  /** They stand where the provider looks for an object. */
  named: ReadonlySet<string>;
  /** They look like ids. */
  seen: ReadonlySet<string>;
}

/** Who asks, and the providers that the request may go to. */
export interface Asker {
  projectId: number;
  admin: boolean;
  providers: readonly string[];
}

/** Owners of the objects that providers store for projects that share a credential. */
export type StoredObjects = ReturnType<typeof createStoredObjects>;

export interface StoredObjectsOptions {
  db: Db;
  ledger: Pick<Ledger, 'writeApart'>;
  now: () => number;
  warn: (message: string) => void;
}

/** Undefined: nobody is known to have it. */
type Ownership = 'own' | 'foreign' | undefined;

/** So many ids of one request are looked up, in a few milliseconds. */
const MAX_IDS = 5_000;
/** Characters of object ids. Anything else may be another spelling of one. */
const PLAIN_ID = /^[\w.:@-]{1,200}$/;

export function createStoredObjects({ db, ledger, now, warn }: StoredObjectsOptions) {
  const owners = createObjectOwners(db);
  /** Not yet committed, by id in lower case. */
  const pending = new Map<string, ObjectOwner>();
  let isShared = hasSeveralProjects(db);
  let claims = readObjectClaims(db);

  /** Looks ids up together. */
  function ownershipsOf(ids: readonly string[], asker: Asker): (id: string) => Ownership {
    const written = ids.length === 0 ? undefined : owners.find(ids);
    return (id) => {
      const key = id.toLowerCase();
      const waiting = pending.get(key);
      return ownership([...(written?.get(key) ?? []), ...(waiting ? [waiting] : [])], asker);
    };
  }

  function ownership(all: readonly ObjectOwner[], { projectId, providers }: Asker): Ownership {
    const here = all.filter(({ provider }) => providers.includes(provider));
    if (here.length > 0) return here.every((owner) => owner.projectId === projectId) ? 'own' : 'foreign';
    return all.some((owner) => owner.projectId !== projectId) ? 'foreign' : undefined;
  }

  function mayUse(id: string, known: Ownership, asker: Asker): boolean {
    if (known !== undefined) return known === 'own';
    const [provider = ''] = asker.providers;
    return PLAIN_ID.test(id) && claims.get(provider) === asker.projectId;
  }

  return {
    /** False as long as there is one project: then nothing is checked or written. */
    shared: (): boolean => isShared,
    /**
     * Throws GwError 404 for an object of another project, and for one that nobody is known to have made: that is the
     * project's only that had used the provider before there was a second one. An admin key may use all.
     */
    check(asker: Asker, { named, seen }: References) {
      if (asker.admin) return;
      if (named.size + seen.size > MAX_IDS)
        throw badRequest(
          `the request has ${named.size + seen.size} texts that could be ids of objects, and gw looks up ${MAX_IDS} at most. Send it in parts`,
          undefined,
          'too_many_ids',
        );
      const ownershipOf = ownershipsOf([...named, ...seen], asker);
      for (const id of named) if (!mayUse(id, ownershipOf(id), asker)) throw objectNotFound(id);
      for (const id of seen) if (ownershipOf(id) === 'foreign') throw objectNotFound(id);
    },
    /** Whether a project made all of these at one of the providers. */
    owns(asker: Asker, ids: Iterable<string>): boolean {
      const all = [...ids];
      const ownershipOf = ownershipsOf(all, asker);
      return all.every((id) => ownershipOf(id) === 'own');
    },
    /** Writes down what a project has made. Takes effect at once; the promise resolves when it is durable. */
    async note(ids: readonly string[], owner: ObjectOwner): Promise<void> {
      const ownershipOf = ownershipsOf(ids, askerOf(owner));
      const fresh = ids.filter((id) => id.length <= 200 && ownershipOf(id) === undefined);
      // Another answer may have named it first, and its row may still be on the way: this one waits for it too.
      if (fresh.length === 0 && !ids.some((id) => pending.has(id.toLowerCase()))) return;
      for (const id of fresh) pending.set(id.toLowerCase(), owner);
      try {
        await ledger.writeApart(() => owners.add(fresh, owner, now()));
      } catch (error) {
        // Without the row only an admin key reaches the object.
        warn(`could not write down who made ${fresh.length} stored objects: ${messageOf(error)}`);
      } finally {
        for (const id of fresh) pending.delete(id.toLowerCase());
      }
    },
    /** Reads the projects anew. */
    reload() {
      isShared = hasSeveralProjects(db);
      claims = readObjectClaims(db);
    },
  };
}

const askerOf = ({ provider, projectId }: ObjectOwner): Asker => ({
  projectId,
  admin: false,
  providers: [provider],
});

/** The same for an object of another project and for none. */
function objectNotFound(id: string): GwError {
  return new GwError(
    `no object "${id.slice(0, 200)}" that this key's project has made through gw. Use a key of the project that made it, or an admin key`,
    { status: 404, type: 'not_found_error', code: 'object_not_found' },
  );
}
