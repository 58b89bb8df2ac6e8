import { createRouter } from '../gateway/state/router.ts';
import { createRouterStateStore } from '../store/router/router-state.ts';
import type { Core } from './open-core.ts';

/** A router whose state survives a restart. Saves targets' health on every change. */
export function createPersistentRouter({ db, ledger, clock, random }: Core) {
  const store = createRouterStateStore(db);
  const router = createRouter({
    clock,
    random,
    saved: { health: store.read('health'), conversations: store.read('conversations') },
  });

  const saveHealth = () => store.save('health', router.health.snapshot(), clock.now());
  // No request waits for this write; an unwritable database is reported elsewhere.
  router.onHealthChange(() => void ledger.write(saveHealth).catch(() => {}));

  /** Returns the pending write; undefined if no conversation has changed. */
  function pendingConversations(): (() => void) | undefined {
    const snapshot = router.conversationsToSave();
    return snapshot && (() => store.save('conversations', snapshot, clock.now()));
  }

  return {
    router,
    /** Saves the conversations if any has changed since the last save. */
    async saveConversations() {
      const save = pendingConversations();
      if (save) await ledger.write(save);
    },
    /** Saves everything, within the current transaction. */
    saveState() {
      saveHealth();
      pendingConversations()?.();
    },
  };
}
