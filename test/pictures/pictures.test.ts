import { join } from 'node:path';
import { onTestFinished, test } from 'vitest';
import { enter, openWindow, show, startBrowser } from '../page/support/browser.ts';
import { startWeek } from '../page/support/week.ts';

const FOLDER = join(import.meta.dirname, '../../docs/pictures');

const PICTURES = [
  { name: 'today-light', view: '#/', scheme: 'light' },
  { name: 'today-dark', view: '#/', scheme: 'dark' },
  { name: 'spend-light', view: '#/spend?from=6d', scheme: 'light' },
  { name: 'spend-dark', view: '#/spend?from=6d', scheme: 'dark' },
  { name: 'session-light', view: '#/sessions/claude-1020', scheme: 'light' },
] as const;

test('the pictures of the page, from a scripted week', async () => {
  const { gateway } = await startWeek();
  const browser = await startBrowser();
  onTestFinished(() => browser.close());
  for (const { name, view, scheme } of PICTURES) {
    const window = await openWindow(browser, { width: 1200, height: 800, scheme });
    await enter(window, gateway.origin, gateway.adminKey);
    await show(window, view);
    await window.page.waitForLoadState('networkidle').catch(() => undefined);
    await window.page.screenshot({ path: join(FOLDER, `${name}.png`) });
    await window.context.close();
  }
});
