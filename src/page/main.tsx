import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { takeSession } from './state/session.ts';

takeSession();
const root = document.getElementById('page');
if (root) createRoot(root).render(<App />);
