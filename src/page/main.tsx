import { createRoot } from 'preact/compat/client';
import { App } from './app.tsx';

const root = document.getElementById('page');
if (root) createRoot(root).render(<App />);
