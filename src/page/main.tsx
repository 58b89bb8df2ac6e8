import { createRoot } from 'react-dom/client';

createRoot(document.getElementById('page') ?? document.body).render(<h1>gw</h1>);
