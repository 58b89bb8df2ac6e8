import { createRouter, type Router } from '../gateway/state/router.ts';
import { createRouterStateStore } from '../store/router/router-state.ts';
import type { Core } from './open-core.ts';

/** A router whose state survives a restart. It saves the health of the targets whenever that changes. */
export interface PersistentRouter {
  router: Router;
  /** Saves the conversations if any has changed since the last save. */
  saveConversations(): Promise<void>;
  /** Saves everything, within the running transaction. */
  saveState(): void;
}

export function createPersistentRouter({ db, ledger, clock, random }: Core): PersistentRouter {
  const store = createRouterStateStore(db);
  const router = createRouter({
    clock,
    random,
    saved: { health: store.read('health'), conversations: store.read('conversations') },
  });

  const saveHealth = () => store.save('health', router.health.snapshot(), clock.now());
  // No request waits for this write, and a database that can't be written is reported elsewhere.
  router.onHealthChange(() => void ledger.write(saveHealth).catch(() => {}));

  /** The write that is due, or undefined if no conversation has changed. */
  function pendingConversations(): (() => void) | undefined {
    const snapshot = router.conversationsToSave();
    return snapshot && (() => store.save('conversations', snapshot, clock.now()));
  }

  return {
    router,
    async saveConversations() {
      const save = pendingConversations();
      if (save) await ledger.write(save);
    },
    saveState() {
      saveHealth();
      pendingConversations()?.();
    },
  };
}
