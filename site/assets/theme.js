// Runs before the first paint, so that a reader who chose a colour scheme never sees the other one
// flash. Loaded in the head as a classic script; everything else waits (kb.js).
// The class `js` shows what works only with scripts (`.kb-js`).
(function () {
  "use strict";
  var root = document.documentElement;
  root.classList.add("js");
  try {
    var theme = localStorage.getItem("kb-theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch (error) {
    // Storage may be forbidden; the system's colour scheme then applies.
  }
})();
