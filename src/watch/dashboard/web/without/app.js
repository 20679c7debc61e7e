// In place of the pages' script in a build without esbuild or Chart.js.
"use strict";
document.getElementById("main").textContent =
    "This warpmark was built without the dashboard's pages (esbuild and libjs-chart.js were not there). " +
    "The JSON API answers under /api/.";
